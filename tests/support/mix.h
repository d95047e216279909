/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The stress workload: threads allocate and free at random from several caches and from
 * general allocation. Every block is filled with a pattern from its address and size and
 * verified before it is freed. Part of the blocks goes through a ring that all threads
 * share, so that they are freed by another thread than the one that allocated them.
 * Threads end and new ones start all the time. At rest every cache's count is exactly 0.
 *
 *   mix_start()  threads run, over a heap of their own or (attr is NULL) the default one; the test
 *                disturbs them meanwhile
 *   mix_finish() stops and joins, frees what is left, verifies, destroys
 */
#ifndef DRY_TESTS_MIX_H
#define DRY_TESTS_MIX_H

#include <pthread.h>

#include "exercise.h"

#define MIX_CACHES  8
#define MIX_THREADS 8
#define MIX_HELD    400
#define MIX_RING    1024
#define MIX_SECONDS 2 /* times DRY_TEST_SCALE */
#define MIX_LEAST   10		       /* disturbances in any case */
#define MIX_GENERAL MIX_CACHES /* kind of a block that is not of a cache */

struct mix_block {
	void *at;
	size_t size;
	unsigned kind;
};

struct mix {
	dry_heap *heap;
	dry_cache *caches[MIX_CACHES];
	struct mix_block ring[MIX_RING]; /* guarded by lock */
	size_t head, tail;		 /* guarded by lock */
	pthread_mutex_t lock;
	pthread_t threads[MIX_THREADS], keeper;
	unsigned count;
	uint64_t seed;
	time_t end; /* no more disturbances: a slow or busy machine has had enough of them */
	_Atomic int stop;
	unsigned long steps; /* atomic */
};

static const struct {
	size_t size, align;
	unsigned flags;
} mix_kinds[MIX_CACHES] = {
	{ 24, 0, DRY_CACHE_NO_MERGE },
	{ 100, 0, DRY_CACHE_NO_MERGE },
	{ 256, 0, DRY_CACHE_NO_MERGE | DRY_CACHE_HWALIGN },
	{ 1000, 0, DRY_CACHE_PUBLISHED },
	{ 256, 0, DRY_CACHE_POISON | DRY_CACHE_OBJFREELIST },
	{ 192, 0, DRY_CACHE_OFF_SLAB },
	{ 72, 0, DRY_CACHE_DEBUG & ~DRY_CACHE_TRACE },
	{ 5000, 512, DRY_CACHE_CHAIN },
};

static inline struct mix_block mix_get(struct mix *mix, struct rng *rng)
{
	struct mix_block block = { NULL, 0, (unsigned)rng_below(rng, MIX_CACHES + 2) };

	if (block.kind >= MIX_GENERAL) {
		block.kind = MIX_GENERAL;
		block.size = rng_size(rng, rng_below(rng, 100) ? 12 : 18);
		block.at = dry_alloc(mix->heap, block.size);
	} else {
		block.size = mix_kinds[block.kind].size;
		block.at = dry_cache_alloc(mix->caches[block.kind]);
	}
	CHECK(block.at);
	pattern_fill(block.at, block.size);
	return block;
}

/* A general block of another size, which keeps what both have room for. */
static inline void mix_resize(struct mix *mix, struct mix_block *block, size_t size)
{
	uint64_t key = pattern_key(block->at, block->size);
	void *at = dry_realloc(mix->heap, block->at, size);

	CHECK(at && dry_usable_size(mix->heap, at) >= size);
	CHECK(pattern_holds_key(at, (size < block->size ? size : block->size) & ~(size_t)7, key));
	*block = (struct mix_block){ at, size, block->kind };
	pattern_fill(at, size);
}

static inline void mix_put(struct mix *mix, struct mix_block *block)
{
	if (!block->at)
		return;
	CHECK(pattern_holds(block->at, block->size));
	if (block->kind == MIX_GENERAL && block->size % 8 == 3)
		mix_resize(mix, block, (block->size * 5 ^ 64) % 8192 + 1);
	if (block->kind == MIX_GENERAL)
		dry_free(mix->heap, block->at);
	else
		dry_cache_free(mix->caches[block->kind], block->at);
	block->at = NULL;
}

/* Hand a block to whichever thread comes next, and get one for it. */
static inline struct mix_block mix_exchange(struct mix *mix, struct mix_block block)
{
	struct mix_block other = { NULL, 0, 0 };

	pthread_mutex_lock(&mix->lock);
	if (mix->tail - mix->head == MIX_RING)
		other = mix->ring[mix->head++ % MIX_RING];
	mix->ring[mix->tail++ % MIX_RING] = block;
	pthread_mutex_unlock(&mix->lock);
	return other;
}

static inline void mix_bulk(struct mix *mix, struct rng *rng)
{
	void *objects[64];
	size_t n = rng_below(rng, 64) + 1, kind = rng_below(rng, MIX_CACHES);

	CHECK_EQ(dry_cache_alloc_bulk(mix->caches[kind], n, objects), n);
	for (size_t i = 0; i < n; i++)
		pattern_fill(objects[i], mix_kinds[kind].size);
	for (size_t i = 0; i < n; i++)
		CHECK(pattern_holds(objects[i], mix_kinds[kind].size));
	dry_cache_free_bulk(mix->caches[kind], n, objects);
}

/* Blocks the caller keeps in `held` (MIX_HELD of them); used by the threads and by forked children. */
static inline void mix_work(struct mix *mix, struct mix_block *held, struct rng *rng, size_t steps, bool ring)
{
	for (size_t step = 0; step < steps; step++) {
		struct mix_block *block = &held[rng_below(rng, MIX_HELD)];

		mix_put(mix, block);
		*block = mix_get(mix, rng);
		if (ring && rng_below(rng, 3) == 0)
			*block = mix_exchange(mix, *block);
		if (step % 64 == 63)
			mix_bulk(mix, rng);
	}
	__atomic_fetch_add(&mix->steps, steps, __ATOMIC_RELAXED);
}

static inline void mix_drop(struct mix *mix, struct mix_block *held)
{
	for (int i = 0; i < MIX_HELD; i++)
		mix_put(mix, &held[i]);
}

struct mix_start {
	struct mix *mix;
	uint64_t seed;
};

static inline void *mix_thread(void *arg)
{
	struct mix_start start = *(struct mix_start *)arg;
	struct rng rng = { start.seed };
	struct mix_block held[MIX_HELD] = { { NULL, 0, 0 } };
	size_t rounds = 5 + rng_below(&rng, 40);

	/* One round in any case: on a slow machine all may be told to stop before any has begun. */
	do
		mix_work(start.mix, held, &rng, 500, true);
	while (--rounds && !start.mix->stop);
	if (rng_below(&rng, 2)) /* what it holds goes with it, or stays in the ring for others */
		for (int i = 0; i < MIX_HELD; i += 4)
			if (held[i].at)
				held[i] = mix_exchange(start.mix, held[i]);
	mix_drop(start.mix, held);
	return NULL;
}

/* Keeps `count` threads running: joins each when it is done and starts another. */
static inline void *mix_keeper(void *arg)
{
	struct mix *mix = arg;
	struct mix_start starts[MIX_THREADS];
	struct rng rng = { mix->seed };

	for (unsigned i = 0; i < mix->count; i++) {
		starts[i] = (struct mix_start){ mix, rng_next(&rng) };
		CHECK(!pthread_create(&mix->threads[i], NULL, mix_thread, &starts[i]));
	}
	for (unsigned i = 0; !mix->stop; i = (i + 1) % mix->count) {
		CHECK(!pthread_join(mix->threads[i], NULL));
		starts[i].seed = rng_next(&rng);
		CHECK(!pthread_create(&mix->threads[i], NULL, mix_thread, &starts[i]));
	}
	for (unsigned i = 0; i < mix->count; i++)
		CHECK(!pthread_join(mix->threads[i], NULL));
	return NULL;
}

static inline void mix_start(struct mix *mix, const struct dry_heap_attr *attr, unsigned threads, uint64_t seed)
{
	memset(mix, 0, sizeof(*mix));
	pthread_mutex_init(&mix->lock, NULL);
	mix->count = threads;
	mix->seed = seed;
	mix->end = time(NULL) + (time_t)test_scaled(MIX_SECONDS);
	mix->heap = attr ? dry_heap_create(attr) : NULL;
	CHECK(mix->heap || !attr);
	for (int i = 0; i < MIX_CACHES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "mix-%d", i);
		mix->caches[i] = make_cache(mix->heap, name, mix_kinds[i].size, mix_kinds[i].align, mix_kinds[i].flags);
		CHECK(mix->caches[i]);
	}
	CHECK(!pthread_create(&mix->keeper, NULL, mix_keeper, mix));
}

/* Whether disturbance i of n is still to come. */
static inline bool mix_goes_on(const struct mix *mix, size_t i, size_t n)
{
	return i < n && (i < MIX_LEAST || time(NULL) < mix->end);
}

static inline void mix_finish(struct mix *mix)
{
	struct dry_cache_stats stats;

	mix->stop = 1;
	CHECK(!pthread_join(mix->keeper, NULL));
	while (mix->head < mix->tail)
		mix_put(mix, &mix->ring[mix->head++ % MIX_RING]);
	for (int i = 0; i < MIX_CACHES; i++) {
		stats = stats_of(mix->caches[i]);
		CHECK_EQ(stats.active_objects, 0);
		CHECK_EQ(stats.slabs * stats.objects_per_slab, stats.objects);
		CHECK(stats.cached_objects <= stats.objects);
	}
	CHECK_EQ(dry_heap_check(mix->heap), 0);
	for (int i = 0; i < MIX_CACHES; i++) {
		dry_cache_shrink(mix->caches[i]);
		CHECK_EQ(stats_of(mix->caches[i]).slabs, 0);
		CHECK_EQ(dry_cache_destroy(mix->caches[i]), 0);
	}
	CHECK_EQ(dry_heap_check(mix->heap), 0);
	if (mix->heap)
		CHECK_EQ(dry_heap_destroy(mix->heap), 0);
	CHECK(mix->steps > 0);
	printf("%u threads: %lu steps\n", mix->count, mix->steps);
	fflush(stdout);
}

#endif
