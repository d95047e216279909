/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A single-threaded workload over one heap that uses every kind of call, with
 * self-verifying payloads, and compares the caches' figures with what the
 * workload itself holds. For tests that vary the heap (page size, nodes,
 * memory handed in) or the cache (management type).
 */
#ifndef DRY_TESTS_EXERCISE_H
#define DRY_TESTS_EXERCISE_H

#include <drystone/drystone.h>

#include "check.h"
#include "pattern.h"
#include "random.h"
#include "room.h"

#define EXERCISE_BLOCKS 1024

struct block {
	void *at;
	size_t size;
};

static inline struct dry_cache_stats stats_of(dry_cache *cache)
{
	struct dry_cache_stats stats;

	CHECK_EQ(dry_cache_stats(cache, &stats), 0);
	return stats;
}

static inline struct dry_heap_stats heap_stats_of(dry_heap *heap)
{
	struct dry_heap_stats stats;

	CHECK_EQ(dry_heap_stats(heap, &stats), 0);
	return stats;
}

static inline dry_cache *make_cache(dry_heap *heap, const char *name, size_t size, size_t align, unsigned flags)
{
	struct dry_cache_attr attr = { .name = name, .size = size, .align = align, .flags = flags };

	return dry_cache_create(heap, &attr);
}

/* What holds of any cache at any quiet moment. page_size is the heap's. */
static inline void check_figures(const struct dry_cache_stats *s, size_t page_size)
{
	CHECK(s->object_size >= 1 && s->stride >= s->object_size);
	CHECK(s->objects_per_slab >= 1 && s->pages_per_slab >= 1);
	CHECK(s->objects_per_slab * s->stride <= s->pages_per_slab * page_size);
	CHECK(test_is_tiny() ? s->slabs * s->objects_per_slab >= s->objects : s->slabs * s->objects_per_slab == s->objects);
	CHECK(s->active_objects + s->cached_objects <= s->objects);
	CHECK(s->shared_objects <= s->cached_objects);
	CHECK(s->active_slabs <= s->slabs);
	CHECK(s->active_slabs * s->objects_per_slab >= s->active_objects);
	CHECK(s->batchcount <= s->limit);
	CHECK(s->slow_allocs <= s->allocs);
	CHECK(test_is_tiny() || (s->slabs <= s->peak_slabs && s->peak_slabs <= s->slabs_made));
	CHECK(s->node_waits <= s->node_locks);
}

static inline void exercise_cache_step(dry_cache *cache, size_t size, struct block *blocks, size_t room, size_t *held,
				       struct rng *rng)
{
	struct block *block = &blocks[rng_below(rng, room)];

	if (block->at) {
		CHECK(pattern_holds(block->at, size));
		dry_cache_free(cache, block->at);
		block->at = NULL;
		--*held;
		return;
	}
	block->at = rng_below(rng, 4) ? dry_cache_alloc(cache) : dry_cache_zalloc(cache);
	CHECK(block->at);
	pattern_fill(block->at, size);
	++*held;
}

/* Random single and bulk calls on one cache without constructor; it is empty before and after. */
static inline void exercise_cache(dry_heap *heap, dry_cache *cache, size_t steps, struct rng *rng)
{
	static __thread struct block blocks[EXERCISE_BLOCKS];
	void *bulk[100];
	size_t held = 0, size = stats_of(cache).object_size;
	const size_t room = test_fit(EXERCISE_BLOCKS, size), most = test_fit(100, 2 * size);

	for (size_t step = 0; step < steps; step++) {
		size_t n = rng_below(rng, most) + 1;

		if (step % 64 == 63) {
			CHECK_EQ(dry_cache_alloc_bulk(cache, n, bulk), n);
			for (size_t i = 0; i < n; i++)
				pattern_fill(bulk[i], size);
			CHECK_EQ(stats_of(cache).active_objects, held + n);
			for (size_t i = 0; i < n; i++)
				CHECK(pattern_holds(bulk[i], size));
			dry_cache_free_bulk(cache, n, bulk);
		} else {
			exercise_cache_step(cache, size, blocks, room, &held, rng);
		}
		if (step % 1024 == 1023) {
			CHECK_EQ(stats_of(cache).active_objects, held);
			CHECK_EQ(dry_cache_check(cache), 0);
			if (rng_below(rng, 4) == 0)
				dry_cache_shrink(cache);
			if (rng_below(rng, 4) == 0)
				dry_heap_reap(heap);
		}
	}
	for (size_t i = 0; i < EXERCISE_BLOCKS; i++) {
		if (!blocks[i].at)
			continue;
		CHECK(pattern_holds(blocks[i].at, size));
		dry_cache_free(cache, blocks[i].at);
		blocks[i].at = NULL;
	}
	CHECK_EQ(stats_of(cache).active_objects, 0);
	CHECK_EQ(dry_cache_check(cache), 0);
}

/* Random general allocation up to 2^bits bytes; all freed at the end. */
static inline void exercise_general(dry_heap *heap, unsigned bits, size_t steps, struct rng *rng)
{
	static __thread struct block blocks[EXERCISE_BLOCKS / 4];
	size_t room;

	bits = test_bits(bits);
	room = test_fit(EXERCISE_BLOCKS / 4, ((size_t)1 << bits) / bits); /* the sizes' mean */
	for (size_t step = 0; step < steps; step++) {
		struct block *block = &blocks[rng_below(rng, room)];
		size_t size = rng_size(rng, bits);

		if (block->at) {
			CHECK(pattern_holds(block->at, block->size));
			dry_free(heap, block->at);
			block->at = NULL;
			continue;
		}
		block->at = dry_alloc(heap, size);
		CHECK(block->at);
		CHECK(dry_usable_size(heap, block->at) >= size);
		block->size = size;
		pattern_fill(block->at, size);
	}
	for (size_t i = 0; i < EXERCISE_BLOCKS / 4; i++) {
		if (blocks[i].at)
			CHECK(pattern_holds(blocks[i].at, blocks[i].size));
		dry_free(heap, blocks[i].at);
		blocks[i].at = NULL;
	}
	CHECK_EQ(dry_heap_check(heap), 0);
}

#endif
