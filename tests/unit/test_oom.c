/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Out of memory at each request of fixed workloads: the k-th request fails, for every k.
 * Two kinds of request are failed, each by itself: the port's (reserve, commit, resize)
 * and the arena's runs of pages. What cannot be had is NULL with ENOMEM, what was there
 * is untouched, every equation of the heap holds, and afterwards the workload succeeds.
 *
 * Linked with fail_port.c and fail_runs.c.
 */
#include <drystone/drystone.h>
#include <fcntl.h>
#include <stdlib.h>

#include "../support/check.h"
#include "../support/pattern.h"
#include "../support/random.h"
#include "../support/statm.h"
#include "fail_port.h"
#include "fail_runs.h"

/* Runs of pages are asked for far more often than the port is: then a part of each workload suffices. */
static size_t part = 1;

/* A result that may be refused; counts the refusals. */
static bool had(const void *result, size_t *refused)
{
	if (result)
		return true;
	CHECK_EQ(errno, ENOMEM);
	errno = 0;
	++*refused;
	return false;
}

static dry_cache *make(dry_heap *heap, const char *name, size_t size, unsigned flags, size_t *refused)
{
	struct dry_cache_attr attr = { .name = name, .size = size, .flags = flags };
	dry_cache *cache = dry_cache_create(heap, &attr);

	return had(cache, refused) ? cache : NULL;
}

static size_t active(dry_cache *cache)
{
	struct dry_cache_stats stats;

	CHECK_EQ(dry_cache_stats(cache, &stats), 0);
	return stats.active_objects;
}

/* Each workload returns how many of its requests were refused, and leaves the heap empty. */

static size_t work_typed(dry_heap *heap)
{
	enum { MOST = 4000 };
	static const unsigned types[] = { 0, DRY_CACHE_PUBLISHED, DRY_CACHE_OFF_SLAB, DRY_CACHE_POISON };
	static void *objects[MOST];
	size_t refused = 0, count = MOST / part;

	for (int t = 0; t < 4; t++) {
		dry_cache *cache = make(heap, "typed", 512, types[t] | DRY_CACHE_NO_MERGE, &refused);
		size_t held = 0;

		if (!cache)
			continue;
		for (size_t i = 0; i < count; i++) {
			objects[i] = i % 2 ? dry_cache_alloc(cache) : dry_cache_zalloc(cache);
			if (!had(objects[i], &refused))
				continue;
			held++;
			pattern_fill(objects[i], 512);
		}
		CHECK_EQ(active(cache), held);
		CHECK_EQ(dry_heap_check(heap), 0);
		for (size_t i = 0; i < count; i++) {
			CHECK(!objects[i] || pattern_holds(objects[i], 512));
			dry_cache_free(cache, objects[i]);
		}
		CHECK_EQ(active(cache), 0);
		CHECK_EQ(dry_cache_destroy(cache), 0);
	}
	return refused;
}

static size_t work_bulk(dry_heap *heap)
{
	enum { MOST = 3000 };
	static void *objects[MOST];
	size_t refused = 0, count = MOST / part;
	dry_cache *cache = make(heap, "bulk", 1024, DRY_CACHE_NO_MERGE, &refused);

	if (!cache)
		return refused;
	for (size_t n = 7; n <= count; n = n * 3) {
		size_t got = dry_cache_alloc_bulk(cache, n, objects);

		CHECK(got == n || got == 0);
		if (!had(got ? objects[0] : NULL, &refused)) {
			CHECK_EQ(active(cache), 0); /* all or none */
			CHECK_EQ(dry_cache_check(cache), 0);
			continue;
		}
		for (size_t i = 0; i < n; i++)
			pattern_fill(objects[i], 1024);
		for (size_t i = 0; i < n; i++)
			CHECK(pattern_holds(objects[i], 1024));
		dry_cache_free_bulk(cache, n, objects);
		dry_cache_shrink(cache);
	}
	for (size_t n = 10; n <= count; n = n * 4) {
		int result = dry_cache_prefill(cache, n);

		CHECK(result == 0 || result == -ENOMEM);
		refused += result != 0;
		for (size_t i = 0; result == 0 && i < n; i++) /* kept promises need no memory from the system */
			CHECK(objects[i] = dry_cache_alloc(cache));
		if (result == 0)
			dry_cache_free_bulk(cache, n, objects);
		CHECK_EQ(active(cache), 0);
		dry_cache_shrink(cache);
	}
	CHECK_EQ(dry_heap_check(heap), 0);
	CHECK_EQ(dry_cache_destroy(cache), 0);
	return refused;
}

static size_t work_general(dry_heap *heap)
{
	enum { MOST = 1500 };
	static void *blocks[MOST];
	static size_t sizes[MOST];
	struct rng rng = { 4711 };
	size_t refused = 0, count = MOST / part;

	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < count; i++) {
			sizes[i] = rng_size(&rng, 14);
			blocks[i] = i % 3 == 0 ? dry_zalloc(heap, sizes[i]) :
				    i % 3 == 1 ? dry_alloc_aligned(heap, (size_t)16 << i % 9, sizes[i]) :
						 dry_alloc(heap, sizes[i]);
			if (had(blocks[i], &refused))
				pattern_fill(blocks[i], sizes[i]);
		}
		CHECK_EQ(dry_heap_check(heap), 0);
		for (size_t i = 0; i < count; i++) {
			CHECK(!blocks[i] || pattern_holds(blocks[i], sizes[i]));
			dry_free(heap, blocks[i]);
		}
		dry_heap_trim(heap);
	}
	return refused;
}

static size_t work_big(dry_heap *heap)
{
	enum { MOST = 40 };
	static char *blocks[MOST];
	static size_t sizes[MOST];
	struct rng rng = { 1234 };
	size_t refused = 0, count = MOST / part;

	for (size_t i = 0; i < count; i++) {
		sizes[i] = 20000 + rng_size(&rng, i % 4 ? 18 : 24);
		blocks[i] = dry_alloc(heap, sizes[i]);
		if (had(blocks[i], &refused))
			pattern_fill_key(blocks[i], 4096, i);
		else
			sizes[i] = 0;
	}
	for (size_t step = 0; step < count * 4; step++) {
		size_t i = rng_below(&rng, count), size = 20000 + rng_size(&rng, step % 4 ? 19 : 25);
		char *moved = dry_realloc(heap, blocks[i], size);

		CHECK(!blocks[i] || moved || pattern_holds_key(blocks[i], 4096, i));
		if (!had(moved, &refused))
			continue;
		if (blocks[i])
			CHECK(pattern_holds_key(moved, 4096, i));
		blocks[i] = moved;
		pattern_fill_key(moved, 4096, i);
		moved[size - 1] = 1;
	}
	CHECK_EQ(dry_heap_check(heap), 0);
	for (size_t i = 0; i < count; i++) {
		CHECK(!blocks[i] || pattern_holds_key(blocks[i], 4096, i));
		dry_free(heap, blocks[i]);
	}
	dry_heap_trim(heap);
	return refused;
}

static size_t work_caches(dry_heap *heap)
{
	enum { MOST = 150 };
	static dry_cache *caches[MOST];
	static void *objects[MOST];
	struct dry_heap_stats before, after;
	size_t refused = 0, count = MOST / part;

	CHECK_EQ(dry_heap_stats(heap, &before), 0);
	for (size_t i = 0; i < count; i++) {
		char name[16] = { 'c', (char)('a' + i % 26), (char)('a' + i / 26), 0 };
		unsigned flags = i % 5 == 4 ? 0 : DRY_CACHE_NO_MERGE;

		objects[i] = NULL;
		caches[i] = make(heap, name, 8 + i * 24, flags, &refused);
		if (!caches[i])
			continue;
		objects[i] = dry_cache_alloc(caches[i]);
		if (had(objects[i], &refused))
			pattern_fill(objects[i], 8 + i * 24);
	}
	CHECK_EQ(dry_heap_check(heap), 0);
	for (size_t i = 0; i < count; i++) {
		CHECK(!objects[i] || pattern_holds(objects[i], 8 + i * 24));
		if (caches[i])
			dry_cache_free(caches[i], objects[i]);
		CHECK_EQ(dry_cache_destroy(caches[i]), 0);
	}
	CHECK_EQ(dry_heap_stats(heap, &after), 0);
	CHECK_EQ(after.caches, before.caches);
	return refused;
}

static size_t (*const workloads[])(dry_heap *heap) = { work_typed, work_bulk, work_general, work_big, work_caches };

enum kind { OF_PORT, OF_ARENA };

static void arm(enum kind kind, long k, bool all_after)
{
	atomic_store(&dry_fail_calls, 0);
	atomic_store(&run_calls, 0);
	atomic_store(&dry_fail_after, all_after);
	atomic_store(&run_fail_after, all_after);
	atomic_store(&dry_fail_at, kind == OF_PORT ? k : 0);
	atomic_store(&run_fail_at, kind == OF_ARENA ? k : 0);
}

/* false: the workload made fewer than k requests. */
static bool attempt(size_t (*work)(dry_heap *heap), enum kind kind, long k, bool all_after, size_t *refused)
{
	struct dry_heap_attr attr = { .name = "oom", .nodes = k % 3 == 0 ? 2 : 1 };
	dry_heap *heap;
	bool reached;

	errno = 0;
	arm(kind, k, all_after);
	heap = dry_heap_create(&attr);
	if (had(heap, refused))
		*refused += work(heap);
	reached = atomic_load(kind == OF_PORT ? &dry_fail_calls : &run_calls) >= k;
	arm(kind, 0, false);
	if (!heap)
		return reached;
	CHECK_EQ(dry_heap_check(heap), 0);
	CHECK_EQ(work(heap), 0);
	CHECK_EQ(dry_heap_check(heap), 0);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	return reached;
}

int main(int argc, char **argv)
{
	size_t before = 0;
	long stride = (long)test_stride();

	test_seed(argc, argv);
	for (size_t w = 0; w < sizeof(workloads) / sizeof(workloads[0]); w++) {
		for (int kind = OF_PORT; kind <= OF_ARENA; kind++) {
			size_t refused = 0;
			long k = 1;

			part = kind == OF_PORT ? 1 : 6;
			for (; attempt(workloads[w], (enum kind)kind, k, false, &refused); k += stride)
				if (w == 0 && kind == OF_PORT && k == 1)
					before = test_address_space();
			CHECK(k > 1);
			/* nothing at all from there on; one request that fails may well be made in another way */
			for (long first = 1; first < k; first += 1 + k / 20)
				attempt(workloads[w], (enum kind)kind, first, true, &refused);
			printf("workload %zu, %s: %ld requests, %zu refusals seen\n", w, kind == OF_PORT ? "port" : "arena",
			       k - 1, refused);
			fflush(stdout);
			CHECK(refused > 0);
		}
	}
	CHECK(test_address_space() <= before + (16 << 20)); /* no reservation was left behind */
	return 0;
}
