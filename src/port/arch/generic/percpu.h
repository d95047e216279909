/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The sequences on per-CPU arrays in plain C, for threads that own their slot
 * exclusively. See arch/x86_64/percpu.h for the layout and the operands.
 *
 * `inside` tells the fence that its owner is in a sequence. Owner: store inside,
 * full fence, read slots[]. Fence (dry_port_slot_fence): replaced slots, full fence,
 * read inside. One of the two sees the other (Dekker). Where the fence's caller can put a full fence
 * into every thread (DRY_PORT_FENCES_ALL: Linux, membarrier), the owner's is the compiler's only. The release
 * store at the end pairs with the fence's acquire load: whoever sees 0 sees the array.
 */
#ifndef DRY_PORT_PERCPU_H
#define DRY_PORT_PERCPU_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "port/slots.h"
#include "port/word.h"
#include "port_impl.h"

struct dry_slot_tls {
	uint32_t id;  /* 0: no slot, or `own` is parked */
	uint32_t own; /* that of the thread; 0: it has none */
	_Atomic uint32_t inside;
	uint32_t state; /* owned by the port's slots.c */
};
#define DRY_PERCPU_PARKS 1 /* port/here.h */
#define DRY_SLOT_TLS_MODEL /* any */
#define DRY_SLOT_TLS_INIT { 0 }
extern _Thread_local struct dry_slot_tls dry_slot_tls;

/* No kernel restarts these: threads own their slots, and nothing has to be said about where. */
enum { DRY_PERCPU_RESTARTS = 0 };

static inline void dry_percpu_use_rseq(ptrdiff_t area, ptrdiff_t id)
{
	(void)area, (void)id;
}

static inline void dry_percpu_use_owned(void)
{
}

static inline uint32_t dry_percpu_renumber(uint32_t none)
{
	return none;
}

static inline void dry_percpu_number_again(uint32_t none, uint32_t had)
{
	(void)none, (void)had;
}

/* Whether the owner of a slot is inside of a sequence. */
static inline bool dry_percpu_inside(const struct dry_slot_tls *tls)
{
	return atomic_load_explicit(&tls->inside, memory_order_acquire) != 0;
}

struct dry_percpu_array {
	uint64_t word;
	uint16_t limit;
	uint16_t pad[3];
	void *entry[];
};

static inline struct dry_percpu_array *dry_percpu_enter(const void *base, size_t disp, size_t at)
{
	atomic_store_explicit(&dry_slot_tls.inside, 1, memory_order_relaxed);
	if (DRY_PORT_FENCES_ALL)
		atomic_signal_fence(memory_order_seq_cst);
	else
		atomic_thread_fence(memory_order_seq_cst);
	/* acquire: pairs with the release in dry_slots_start_locked(); against a stop the fence above orders it */
	char *const *slots = (char *const *)(const void *)((const char *)base + disp);
	char *area = __atomic_load_n(&slots[dry_slot_tls.id], __ATOMIC_ACQUIRE);
	return (struct dry_percpu_array *)(void *)(area + at * 8);
}

/* relaxed: written by the owner alone, looked at by others as a hint */
static inline uint64_t dry_percpu_word(const struct dry_percpu_array *array)
{
	return __atomic_load_n(&array->word, __ATOMIC_RELAXED);
}

static inline void dry_percpu_set_word(struct dry_percpu_array *array, uint64_t word)
{
	__atomic_store_n(&array->word, word, __ATOMIC_RELAXED);
}

static inline void dry_percpu_leave(void)
{
	atomic_store_explicit(&dry_slot_tls.inside, 0, memory_order_release);
}

static inline void *dry_percpu_pop(const void *base, size_t disp, size_t at)
{
	struct dry_percpu_array *array = dry_percpu_enter(base, disp, at);
	uint64_t word = dry_percpu_word(array);
	size_t n = word & 0xffff;

	if (n == 0) {
		dry_percpu_leave();
		return NULL;
	}
	void *object = array->entry[n - 1];
	word += DRY_WORD_POP;
	if (DRY_UNLIKELY((int64_t)word < 0)) { /* no slot has the owned ones' flags: it is over */
		/* read again, so that a hit need not keep what it was */
		dry_percpu_set_word(array, dry_percpu_word(array) + ((uint64_t)1 << DRY_WORD_COUNT));
		dry_percpu_leave();
		return NULL;
	}
	dry_percpu_set_word(array, word);
	dry_percpu_leave();
	if (object == NULL)
		__builtin_unreachable(); /* no NULL was ever pushed: spares the caller's test */
	return object;
}

static inline bool dry_percpu_push(const void *base, size_t disp, size_t at, void *object)
{
	struct dry_percpu_array *array = dry_percpu_enter(base, disp, at);
	size_t n = dry_percpu_word(array) & 0xffff;
	/*
	 * Not freed twice in a row. Below the entries of an empty array lies its limit, which is no address of an object; relaxed:
	 * with it a mark that a reap may write just now.
	 */
	bool room = n < array->limit && __atomic_load_n((void *const *)(const void *)array + n + 1, __ATOMIC_RELAXED) != object;

	if (room) {
		array->entry[n] = object;
		dry_percpu_set_word(array, dry_percpu_word(array) + 1);
	}
	dry_percpu_leave();
	return room;
}

static inline size_t dry_percpu_pop_batch(const void *base, size_t disp, size_t at, void **objects, size_t max)
{
	struct dry_percpu_array *array = dry_percpu_enter(base, disp, at);
	size_t n = dry_percpu_word(array) & 0xffff, count = n < max ? n : max;

	for (size_t i = 0; i < count; i++)
		objects[i] = array->entry[n - count + i];
	if (count != 0)
		dry_percpu_set_word(array, dry_percpu_word(array) - count);
	dry_percpu_leave();
	return count;
}

static inline size_t dry_percpu_push_batch(const void *base, size_t disp, size_t at, void *const *objects, size_t max)
{
	struct dry_percpu_array *array = dry_percpu_enter(base, disp, at);
	size_t n = dry_percpu_word(array) & 0xffff, room = array->limit > n ? array->limit - n : 0;
	size_t count = room < max ? room : max;

	for (size_t i = 0; i < count; i++)
		array->entry[n + i] = objects[i];
	if (count != 0)
		dry_percpu_set_word(array, dry_percpu_word(array) + count);
	dry_percpu_leave();
	return count;
}

static inline uint64_t dry_percpu_charge(const void *base, size_t disp, size_t at)
{
	struct dry_percpu_array *array = dry_percpu_enter(base, disp, at);
	uint64_t word = 0;

	if (array->limit != 0) { /* the stopped area is never written */
		word = dry_percpu_word(array) + ((uint64_t)1 << DRY_WORD_COUNT);
		dry_percpu_set_word(array, word);
	}
	dry_percpu_leave();
	return word;
}

static inline uint64_t dry_percpu_arm(const void *base, size_t disp, size_t at, uint64_t beginning)
{
	struct dry_percpu_array *array = dry_percpu_enter(base, disp, at);
	uint64_t word = dry_percpu_word(array);
	bool over = dry_word_is_over(word);

	if (over)
		dry_percpu_set_word(array, (word & 0xffff) | beginning);
	dry_percpu_leave();
	return over ? word : 0;
}

/* No flag is needed: every sequence clears `inside` at its end. */
static inline uint64_t dry_percpu_empty_word(void)
{
	return 0;
}

static inline unsigned dry_percpu_slot(void)
{
	return dry_slot_tls.id;
}

#endif
