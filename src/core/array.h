/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Array caches: a slot's stack of free objects of one cache, and the areas that they lie in.
 *
 *   slots[slot] ──> area of one slot:  [ stopped | array | array | ... ]
 *
 * An array is found at slots[slot] + 8 * its place. Frees push it, allocations pop it.
 *
 * slots[] of stopped caches, and of slots without an area yet, point to a stopped area (dry_stopped_area, unless there are many
 * arrays): all of them there have avail 0 and limit 0, so the emptiness and fullness tests that the fast path needs anyway lead to
 * the slow path. Place 0 of every area is such an array, too: debugged caches, and those without arrays, use it.
 */
#ifndef DRY_CORE_ARRAY_H
#define DRY_CORE_ARRAY_H

#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "percpu.h"

#define DRY_MAX_LIMIT  512
#define DRY_AREA_MAX   ((size_t)512 << 10) /* what a uint16_t of 8-byte units can reach */
/* Objects on a stack of ours at a time: bigger batches go in pieces. */
#ifndef DRY_PIECE
#define DRY_PIECE 64
#endif
#define DRY_AREA_UNIT  64                  /* arrays start on a cache line */

/* Written by its slot's sequences only, but while the caches are stopped. */
struct dry_array {
	uint64_t word;       /* 0 <= avail <= limit, and pops: see port/word.h */
	uint16_t limit;      /* changes while they are stopped */
	uint16_t pad;
	uint32_t seen;       /* reap only: dry_array_seen() at the last reap */
	void *entry[];       /* [0, avail) oldest first */
};
_Static_assert(offsetof(struct dry_array, limit) == 8 && offsetof(struct dry_array, entry) == 16,
	       "the layout that percpu.h works on");

/* All zero for ever: avail 0, limit 0 wherever one looks. */
extern __attribute__((visibility("hidden"))) char dry_stopped_area[];

static inline struct dry_array *dry_area_array(char *area, uint32_t place)
{
	return (struct dry_array *)(void *)(area + (size_t)place * 8);
}

/*
 * The low half of a word but for its highest bit, which is set: then limit, pad and seen as one word are no address
 * (port/arch/x86_64/percpu.h).
 */
static inline uint32_t dry_array_seen(uint64_t word)
{
	return (uint32_t)word | UINT32_C(1) << 31;
}

static inline unsigned dry_array_avail(const struct dry_array *array)
{
	/* relaxed: a hint, unless the array is at rest */
	return (unsigned)(dry_peek64(&array->word) & 0xffff);
}

#endif
