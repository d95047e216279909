/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * An object of a debugged cache and what stands around it.
 *
 *   slot:  | red zone | object ... asked for | red zone up to the owner | owner | unused |
 *          ^ slot     ^ what the program has                            ^ object + record_at
 *
 * Red zones (DRY_CACHE_RED_ZONE) are ZONE throughout the slot's life. Of a general cache's object the bytes beyond what
 * was asked for belong to the zone on its right. A poisoned object (DRY_CACHE_POISON) is FREE up to its last byte, which is
 * END, while it is free. The owner is there with RED_ZONE, STORE_USER or QUARANTINE.
 *
 * States of an object with an owner:  FREE --handed out--> LIVE --taken back--> FREE, or KEPT (in quarantine) --> FREE
 *
 * Concurrency: what is free is its slab's and is changed by who took it out, what is live by its program. A free sets the
 * state by one exchange, so that of two frees at once one is told that it is the second.
 */
#ifndef DRY_DEBUG_OBJECT_H
#define DRY_DEBUG_OBJECT_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/fatal.h"
#include "core/cache.h"

extern const struct dry_debug_ops dry_debug_checked; /* of caches with DRY_CACHE_DEBUG */

#define DRY_BYTE_FREE 0x6b
#define DRY_BYTE_END  0xa5
#define DRY_BYTE_ZONE 0xcc
#define DRY_ZONE_SEEN 64u /* of a wide zone before an object, the bytes next to the object */

enum { DRY_OBJECT_LIVE = 0x11fe0bec, DRY_OBJECT_FREE = 0x0ff0bec7, DRY_OBJECT_KEPT = 0x4e970bec };

/* When and by whom. stack 0: not known. */
struct dry_track {
	uint32_t stack;  /* debug/stacks.h */
	uint32_t thread; /* dry_port_thread() */
	uint32_t when;   /* dry_port_clock_ms(), low half */
};

struct dry_record {
	_Atomic uint32_t state;
	uint32_t asked : 28; /* bytes; 1 <= asked <= object_size */
	uint32_t kind : 4;   /* LIVE: enum dry_kind */
	struct dry_track allocated, freed; /* `when` 0: never */
	uint16_t mark; /* not LIVE, where no pattern can be: of its content (debug/canary.h); 0: none */
};

/* NULL: the cache keeps none. */
static inline struct dry_record *dry_record_of(const struct dry_cache *cache, const void *object)
{
	return cache->record_at != 0 ? (struct dry_record *)(void *)((char *)(uintptr_t)object + cache->record_at) : NULL;
}

/* Whether what is known of an object may be: what an error wrote over says nothing. */
static inline bool dry_record_is_whole(const struct dry_cache *cache, const struct dry_record *owner)
{
	uint32_t state = atomic_load_explicit(&owner->state, memory_order_relaxed);

	return (state == DRY_OBJECT_LIVE || state == DRY_OBJECT_FREE || state == DRY_OBJECT_KEPT) &&
	       owner->asked - 1u < cache->object_size;
}

/* Bytes that are poisoned: without a red zone all of the slot. */
static inline size_t dry_poisoned_bytes(const struct dry_cache *cache)
{
	return cache->record_at != 0 ? cache->object_size : cache->size;
}

static inline uint32_t dry_zone_before(const struct dry_cache *cache)
{
	return cache->before < DRY_ZONE_SEEN ? cache->before : DRY_ZONE_SEEN;
}

/* quarantine.c. Keep an object; the oldest one may have to go for it. */
void dry_quarantine_push(struct dry_cache *cache, void *object);
/* All of it into the slabs. */
void dry_quarantine_drain(struct dry_cache *cache);

/* fill.c. The first byte of [from, to) that is not `value`; NULL: none. */
const char *dry_other_byte(const char *from, const char *to, unsigned char value);
/* The byte at `at` should be `value`. */
void dry_report_damage(struct dry_cache *cache, enum dry_fatal_code code, const char *at, unsigned char value);
/* The first bytes of a free object, or all that are poisoned. */
void dry_poison(const struct dry_cache *cache, void *object, size_t bytes);
/* Of a constructed object, whose content stays when it is freed, and which nobody may look at then; 0: of no other. */
uint16_t dry_object_mark(const struct dry_cache *cache, const void *object);
/* Verify a free object's poison, or mark; it is whole again after a report. */
void dry_object_verify_free(struct dry_cache *cache, void *object);

/* owners.c: list who has the live objects of a cache that is being destroyed. */
void dry_owners_left_over(struct dry_cache *cache);
/* In the child of a fork: another thread may have been at such a list. */
void dry_owners_forked(void);

/* report.c: what dry_fatal_explain is set to. */
void dry_debug_explain(enum dry_fatal_code code, const void *address);
/* One line on an allocation or a free. */
void dry_debug_trace(const struct dry_cache *cache, const char *what, const void *object, uint32_t stack);

/* Wipe secure objects when they are freed, and verify it later; false: their content stays. Written at start. */
extern bool dry_secure_zero;

#endif
