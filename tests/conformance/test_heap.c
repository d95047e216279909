/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Heaps: over memory handed in, with a limit, with other page sizes and nodes, many at once. */
#define _GNU_SOURCE 1
#ifdef __linux__
#include <sched.h>
#endif
#include <stdlib.h>
#include <sys/mman.h>

#include "../support/exercise.h"
#include "../support/pages.h"
#include "../support/statm.h"

#define ROOM test_min((size_t)8 << 20, TEST_POOL)

static size_t fill(dry_cache *cache, size_t size, void **objects, size_t room)
{
	size_t n = 0;

	errno = 0;
	while ((objects[n] = dry_cache_alloc(cache))) {
		pattern_fill(objects[n], size);
		CHECK(++n < room);
	}
	CHECK_EQ(errno, ENOMEM);
	for (size_t i = 0; i < n; i++)
		CHECK(pattern_holds(objects[i], size));
	return n;
}

/*
 * Fill until ENOMEM, free all, fill again: the same number fits. What frees make of metadata counts against a limit, in pages:
 * where those are bigger than 4 KiB, one of them may be missing from then on.
 */
static void test_fill(dry_heap *heap, size_t size, struct rng *rng, const char *low, const char *high)
{
	size_t room = ROOM / size + 64, counts[3];
	size_t less = low != NULL || test_page_size() == 4096 ? 0 : test_page_size() / size;
	void **objects = calloc(room, sizeof(*objects));
	dry_cache *cache = make_cache(heap, "filler", size, 0, DRY_CACHE_NO_MERGE);

	CHECK(objects && cache);
	for (int round = 0; round < 3; round++) {
		size_t n = counts[round] = fill(cache, size, objects, room);

		CHECK(n > 0);
		for (size_t i = 0; low && i < n; i++)
			CHECK((char *)objects[i] >= low && (char *)objects[i] + size <= high);
		CHECK_EQ(stats_of(cache).active_objects, n);
		CHECK_EQ(dry_heap_check(heap), 0);
		rng_shuffle(rng, objects, n);
		for (size_t i = 0; i < n; i++)
			dry_cache_free(cache, objects[i]);
		CHECK_EQ(stats_of(cache).active_objects, 0);
		CHECK_EQ(dry_heap_check(heap), 0);
	}
	CHECK(counts[1] <= counts[0] && counts[2] <= counts[1] && counts[2] + less >= counts[0]);
	CHECK_EQ(dry_cache_destroy(cache), 0);
	free(objects);
}

static void test_memory(size_t size, size_t shift, struct rng *rng)
{
	const size_t guard = 65536;
	char *whole = mmap(NULL, size + 2 * guard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct dry_heap_attr attr = { .name = "handed in", .memory = whole + guard + shift, .memory_size = size - shift };
	char *low = whole + guard + shift, *high = whole + guard + size;
	dry_heap *heap;

	CHECK(whole != MAP_FAILED);
	memset(whole, 0x77, size + 2 * guard); /* what is handed in need not be zero */
	heap = dry_heap_create(&attr);
	CHECK(heap);
	if (size >= ROOM / 2) { /* room for the whole exercise */
		test_fill(heap, 16, rng, low, high);
		test_fill(heap, 200, rng, low, high);
		test_fill(heap, 5000, rng, low, high);
		exercise_general(heap, 14, test_scaled(5000), rng);
	} else {
		test_fill(heap, 100, rng, low, high);
	}
	for (int i = 0; i < 100; i++) {
		char *zeroed = dry_zalloc(heap, 5000);
		CHECK(zeroed && zeroed >= low && zeroed + 5000 <= high && all_bytes(zeroed, 5000, 0));
		memset(zeroed, 1, 5000);
		dry_free(heap, zeroed);
	}
	errno = 0;
	CHECK(!dry_alloc(heap, size));
	CHECK_EQ(errno, ENOMEM);
	dry_heap_trim(heap);
	dry_heap_reap(heap);
	CHECK_EQ(dry_heap_check(heap), 0);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	CHECK(all_bytes(whole, guard + shift, 0x77));
	CHECK(all_bytes(whole + guard + size, guard, 0x77));
	CHECK(!munmap(whole, size + 2 * guard));
}

static void test_limit(struct rng *rng)
{
	const size_t limits[] = { ROOM / (test_in_pool() ? 4 : 8), ROOM / 8 * 3, ROOM };

	for (int i = 0; i < 3; i++) {
		struct dry_heap_attr attr = { .name = "limited", .limit = limits[i] };
		dry_heap *heap = dry_heap_create(&attr);

		CHECK(heap);
		test_fill(heap, 32, rng, NULL, NULL);
		test_fill(heap, 3000, rng, NULL, NULL);
		test_fill(heap, test_biggest(20000), rng, NULL, NULL);
		CHECK(heap_stats_of(heap).in_use + heap_stats_of(heap).extents <= limits[i]);
		errno = 0; /* big blocks count, too */
		CHECK(!dry_alloc(heap, limits[i] + 1));
		CHECK_EQ(errno, ENOMEM);
		CHECK(!dry_alloc(heap, 64 << 20));
		void *block = dry_alloc(heap, limits[i] / 4);
		CHECK(block);
		dry_free(heap, block);
		CHECK_EQ(dry_heap_check(heap), 0);
		CHECK_EQ(dry_heap_destroy(heap), 0);
	}
}

static void exercise_heap(const struct dry_heap_attr *attr, struct rng *rng)
{
	dry_heap *heap = dry_heap_create(attr);

	CHECK(heap);
	for (size_t size = 8; size < test_biggest(70000); size = size * 3 + 8) {
		dry_cache *cache = make_cache(heap, "exercised", size, 0, DRY_CACHE_NO_MERGE);
		struct dry_cache_stats stats;

		CHECK(cache);
		exercise_cache(heap, cache, test_scaled(10000), rng);
		stats = stats_of(cache);
		check_figures(&stats, attr->page_size ? attr->page_size : (size_t)sysconf(_SC_PAGESIZE));
		CHECK_EQ(dry_cache_destroy(cache), 0);
	}
	exercise_general(heap, 19, test_scaled(10000), rng);
	CHECK_EQ(dry_heap_destroy(heap), 0);
}

/* Heaps do not disturb each other, and one that is destroyed full gives everything back. */
static void test_many(struct rng *rng)
{
	enum { HEAPS = 40, N = 300 };
	static void *objects[HEAPS][N];
	const int n = (int)test_fit(N, 40 + HEAPS * 8);
	dry_heap *heaps[HEAPS];
	dry_cache *caches[HEAPS];
	int order[HEAPS];

	for (int h = 0; h < HEAPS; h++) {
		struct dry_heap_attr attr = { .name = "one of many" };

		CHECK(heaps[h] = dry_heap_create(&attr));
		CHECK(caches[h] = make_cache(heaps[h], "many", 40 + (size_t)h * 8, 0, 0));
		order[h] = h;
	}
	for (int i = 0; i < n; i++)
		for (int h = 0; h < HEAPS; h++) {
			CHECK(objects[h][i] = i % 2 ? dry_cache_alloc(caches[h]) : dry_alloc(heaps[h], 40));
			pattern_fill(objects[h][i], 40);
		}
	for (int k = HEAPS; k > 0; k--) {
		int pick = (int)rng_below(rng, (size_t)k), h = order[pick];

		order[pick] = order[k - 1];
		for (int i = 0; i < n; i++)
			CHECK(pattern_holds(objects[h][i], 40));
		CHECK_EQ(dry_heap_check(heaps[h]), 0);
		CHECK_EQ(dry_heap_destroy(heaps[h]), 0); /* with everything still allocated */
	}
}

/* Freed, had and freed again: shared arrays that were too small are doubled. */
static void fill_depots(dry_heap *heap)
{
	enum { N = 20000 };
	static void *objects[N];
	dry_cache *cache = make_cache(heap, "depots", 64, 0, 0);

	for (int turn = 0; turn < 4; turn++) {
		for (int i = 0; i < N; i++)
			CHECK(objects[i] = dry_cache_alloc(cache));
		for (int i = 0; i < N; i++)
			dry_cache_free(cache, objects[i]);
	}
}

static void test_destroy_returns_all(void)
{
	size_t before = 0, after;

	for (size_t round = 0; round < 300; round++) {
		dry_heap *heap = dry_heap_create(NULL);
		dry_cache *cache = make_cache(heap, "leak", 500, 0, 0);

		CHECK(heap && cache);
		for (int i = 0; i < 200; i++)
			CHECK(dry_cache_alloc(cache));
		CHECK(dry_alloc(heap, 10 << 20));
		CHECK(dry_alloc(heap, 100000));
		if (round < 60)
			fill_depots(heap);
		CHECK_EQ(dry_heap_destroy(heap), 0);
		if (round == 10)
			before = test_address_space();
	}
	after = test_address_space();
	CHECK(after <= before + (4 << 20));
}

/* On another CPU arrays of its own would be made, where the kernel does not number the CPUs that a process uses. */
static void stay_on_cpu(void)
{
#ifdef __linux__
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((unsigned)sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
#endif
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };
	static const size_t pages[] = { 4096, 16384, 65536 };

	stay_on_cpu();
	test_memory(ROOM, 0, &rng);
	test_memory(ROOM, 4096 + 123, &rng);
	for (size_t size = 256 << 10; size < ROOM; size = size * 4 + 4096)
		test_memory(size, 0, &rng);
	test_limit(&rng);
	for (int i = 0; i < 3; i++) {
		for (unsigned nodes = 1; nodes <= 8; nodes += 3) {
			struct dry_heap_attr attr = { .name = "pages", .page_size = pages[i], .nodes = nodes };

			if (pages[i] >= (size_t)sysconf(_SC_PAGESIZE) && !test_in_pool())
				exercise_heap(&attr, &rng);
		}
	}
	test_many(&rng);
	if (!test_in_pool())
		test_destroy_returns_all();

	CHECK(dry_heap_default());
	CHECK_EQ(dry_heap_destroy(dry_heap_default()), -EINVAL);
	CHECK_EQ(dry_heap_destroy(NULL), -EINVAL);
	exercise_general(NULL, 20, test_scaled(20000), &rng);
	CHECK_EQ(dry_heap_check(dry_heap_default()), 0);
	return 0;
}
