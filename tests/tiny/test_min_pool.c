/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * dry_heap_min_pool(): in a pool of that size no call fails, whatever a workload within its counts does. Random workloads, each
 * driven in ways that fragment: all at once, every second one freed, to and fro, one kind in place of another.
 */
#include <drystone/tiny.h>
#include <stdlib.h>

#include "../support/exercise.h"

enum { KINDS = 6, MOST = 400 };

struct live {
	void *objects[MOST];
	size_t n;
	dry_cache *cache;
};

static dry_heap *heap;
static struct dry_workload kinds[KINDS];
static struct live live[KINDS];

static void construct(void *object, void *arg)
{
	(void)arg;
	*(char *)object = 1;
}

static void get(size_t k)
{
	struct live *l = &live[k];
	size_t align = kinds[k].align;
	void *object;

	if (l->n == kinds[k].count)
		return;
	if (!kinds[k].blocks)
		object = dry_cache_alloc(l->cache);
	else
		object = align ? dry_alloc_aligned(heap, align, kinds[k].size) : dry_alloc(heap, kinds[k].size);
	if (!object)
		fprintf(stderr, "kind %zu: size %zu align %zu count %zu blocks %d: %zu are live\n", k, kinds[k].size, align,
			kinds[k].count, kinds[k].blocks, l->n);
	CHECK(object);
	memset(object, (int)k, kinds[k].size);
	l->objects[l->n++] = object;
}

static void put(size_t k, size_t index)
{
	struct live *l = &live[k];
	void *object = l->objects[index];

	l->objects[index] = l->objects[--l->n];
	if (kinds[k].blocks)
		dry_free(heap, object);
	else
		dry_cache_free(l->cache, object);
}

static void drive(size_t n, struct rng *rng)
{
	for (int phase = 0; phase < 24; phase++) {
		size_t k = rng_below(rng, n), way = rng_below(rng, 4);

		for (size_t i = 0; i < MOST; i++) {
			size_t other = rng_below(rng, n);

			if (way == 0) {
				get(k);
			} else if (way == 1) {
				get(other);
			} else if (way == 2 && live[k].n) {
				put(k, rng_below(rng, live[k].n));
			} else if (way == 3 && live[other].n) {
				put(other, rng_below(rng, live[other].n));
			}
		}
		if (way == 2) /* every second one of what was allocated in a row */
			for (size_t i = 0; i < live[k].n; i++)
				put(k, i);
	}
	CHECK_EQ(dry_heap_check(heap), 0);
}

static size_t draw(struct rng *rng)
{
	size_t n = rng_below(rng, KINDS) + 1, bits = rng_below(rng, 12) + 3;

	for (size_t k = 0; k < n; k++) {
		kinds[k] = (struct dry_workload){ .size = rng_size(rng, (unsigned)bits), .count = rng_below(rng, MOST) + 1 };
		kinds[k].blocks = rng_below(rng, 3) == 0;
		if (rng_below(rng, 3) == 0)
			kinds[k].align = (size_t)1 << rng_below(rng, 11);
		if (rng_below(rng, 3) == 0)
			kinds[k].flags = DRY_CACHE_NO_MERGE;
		kinds[k].constructed = !kinds[k].blocks && rng_below(rng, 4) == 0;
	}
	return n;
}

/* What no pool can hold, and what wraps around. */
static void test_absurd(void)
{
	const struct dry_workload none[] = {
		{ .size = SIZE_MAX - 7, .count = 10 },
		{ .size = SIZE_MAX - 7, .count = 10, .constructed = true },
		{ .size = ((size_t)4 << 20) + 1, .count = 1 },
		{ .size = 16, .count = SIZE_MAX / 16 + 2 },
		{ .size = 16, .count = SIZE_MAX },
		{ .size = 4096, .count = SIZE_MAX / 8 + 2 },
		{ .size = 16, .align = 131072, .count = 1 },
		{ .size = 16, .align = 24, .count = 1 },
		{ .size = SIZE_MAX, .count = 1, .blocks = true },
		{ .size = SIZE_MAX, .count = 300, .blocks = true },
		{ .size = (size_t)1 << 31, .count = 1 << 9, .blocks = true },
		{ .size = SIZE_MAX / 2 + 1, .count = SIZE_MAX / 2 + 1, .blocks = true },
		{ .size = 16, .align = SIZE_MAX / 2 + 1, .count = 10, .blocks = true },
		{ .size = 1, .count = SIZE_MAX, .blocks = true },
		{ .size = 0, .count = 1 },
		{ .size = 16, .flags = DRY_CACHE_TYPESAFE_BY_RCU, .count = 1 },
	};
	static struct dry_workload many[4096];

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		CHECK_EQ(dry_heap_min_pool(&none[i], 1), 0);
	/* each of them fits alone */
	for (size_t i = 0; i < sizeof(many) / sizeof(many[0]); i++)
		many[i] = (struct dry_workload){ .size = (size_t)64 << 20, .count = 4, .blocks = true };
	CHECK(dry_heap_min_pool(many, 1) > (size_t)256 << 20);
	CHECK_EQ(dry_heap_min_pool(many, sizeof(many) / sizeof(many[0])), 0);
	/* the largest that caches can have */
	CHECK(dry_heap_min_pool(&(struct dry_workload){ .size = (size_t)4 << 20, .align = 65536, .count = 2 }, 1) > 8 << 20);
}

/*
 * The pages of a pool come with its size. A workload that needs less in larger pages is told a pool that has these: more objects
 * never need a smaller one, on either side of the step.
 */
static void test_page_sizes(void)
{
	struct dry_workload kind = { .size = 65536, .align = 512, .blocks = true };
	size_t before = 0;

	for (kind.count = 1; kind.count < 600; kind.count++) {
		size_t size = dry_heap_min_pool(&kind, 1);

		CHECK(size >= before);
		before = size;
	}
	kind = (struct dry_workload){ .size = 40000, .align = 2048, .blocks = true };
	for (kind.count = 100, before = 0; kind.count < 1200; kind.count++) {
		size_t size = dry_heap_min_pool(&kind, 1);

		CHECK(size >= before);
		before = size;
	}
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };

	test_absurd();
	test_page_sizes();

	for (size_t round = 0; round < test_scaled(2000); round++) {
		size_t n = draw(&rng), size = dry_heap_min_pool(kinds, n);
		char *memory = malloc(size + 64), name[64];
		size_t shift = rng_below(&rng, 64);
		struct dry_heap_attr attr = { .memory = memory + shift, .memory_size = size };

		CHECK(size && memory);
		heap = dry_heap_create(&attr);
		CHECK(heap);
		for (size_t k = 0; k < n; k++) {
			struct dry_cache_attr cache = { .name = name, .size = kinds[k].size, .align = kinds[k].align,
							.flags = kinds[k].flags,
							.ctor = kinds[k].constructed ? construct : NULL };

			memset(name, 'n', sizeof(name));
			name[rng_below(&rng, 62) + 1] = 0;
			live[k].n = 0;
			live[k].cache = kinds[k].blocks ? NULL : dry_cache_create(heap, &cache);
			CHECK(kinds[k].blocks || live[k].cache);
		}
		drive(n, &rng);
		CHECK_EQ(dry_heap_destroy(heap), 0);
		free(memory);
	}
	return 0;
}
