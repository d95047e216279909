/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the restartable sequences of both architectures find through the thread pointer: the kernel's area, or a look-alike
 * where a thread owns its slot.
 */
#ifndef DRY_PORT_ARCH_RSEQ_TLS_H
#define DRY_PORT_ARCH_RSEQ_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port/slots.h"

/* Field offsets of the kernel's rseq area that we use. */
struct dry_slot_tls {
	uint32_t id;       /* 0: no slot, or `own` is parked */
	uint32_t own;      /* that of the thread; 0: it has none */
	uint64_t rseq_cs;  /* +8, as in the kernel's area */
	uint32_t state;    /* owned by the port's slots.c */
	int32_t patience;  /* so many aborts of sequences until one gives up */
	const char *here;  /* the area that the thread remembers (port/here.h) */
};
/* A number that no slot has, where an area has its own: what threads begin with; behind it, what one has that is new no more. */
#define DRY_NOWHERE_WORDS 5
extern const uint32_t dry_nowhere[2 * DRY_NOWHERE_WORDS] __attribute__((visibility("hidden")));
#define DRY_PERCPU_PARKS 1 /* port/here.h */
#define DRY_SEQ_PATIENCE  "8"
#define DRY_SLOT_TLS_INIT { .patience = 8, .here = (const char *)dry_nowhere }
/* At one offset from the thread pointer in every thread. On the definition, too: gcc forgets it there. */
#define DRY_SLOT_TLS_MODEL __attribute__((tls_model("initial-exec")))
extern _Thread_local struct dry_slot_tls dry_slot_tls __attribute__((visibility("hidden"))) DRY_SLOT_TLS_MODEL;

/*
 * Offsets from the thread pointer: of the area in use (rseq_cs is at +8), and of the slot id. Written by
 * dry_port_init() only, through the two functions below.
 */
extern ptrdiff_t dry_slot_cs __attribute__((visibility("hidden")));
extern ptrdiff_t dry_slot_id __attribute__((visibility("hidden")));
extern bool dry_slot_owned __attribute__((visibility("hidden"))); /* threads own their slots */

/* The kernel restarts sequences: they can do with its areas. */
enum { DRY_PERCPU_RESTARTS = 1 };

static inline void dry_percpu_use_rseq(ptrdiff_t area, ptrdiff_t id)
{
	dry_slot_cs = area;
	dry_slot_id = id;
	dry_slot_tls.here = (const char *)dry_nowhere; /* its beginning may not be in place before libc is */
}

static inline void dry_percpu_use_owned(void)
{
	dry_slot_cs = (char *)&dry_slot_tls - (char *)__builtin_thread_pointer();
	dry_slot_id = dry_slot_cs + (ptrdiff_t)offsetof(struct dry_slot_tls, id);
	dry_slot_owned = true;
	dry_slot_tls.here = (const char *)dry_nowhere;
}

static inline uint32_t *dry_percpu_number(void)
{
	return (uint32_t *)(void *)((char *)__builtin_thread_pointer() + dry_slot_id);
}

/*
 * The thread is on no slot from now on, as far as the kernel says nothing else: `none` is what it has for a number. What it
 * had; `none` where threads own their slots.
 */
static inline uint32_t dry_percpu_renumber(uint32_t none)
{
	uint32_t had = dry_slot_owned ? none : *dry_percpu_number();

	if (had != none)
		__atomic_store_n(dry_percpu_number(), none, __ATOMIC_RELAXED);
	return had;
}

/* As the kernel had it, if it has said nothing since. One instruction (or one that fails after an interrupt) looks and stores. */
static inline void dry_percpu_number_again(uint32_t none, uint32_t had)
{
	if (!dry_slot_owned)
		__atomic_compare_exchange_n(dry_percpu_number(), &none, had, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* Whether the owner of a slot is inside of a sequence. */
static inline bool dry_percpu_inside(const struct dry_slot_tls *tls)
{
	/* acquire: pairs with the store that clears it: a release, which any store is on x86 */
	return __atomic_load_n(&tls->rseq_cs, __ATOMIC_ACQUIRE) != 0;
}

#endif
