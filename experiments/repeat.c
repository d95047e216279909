/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Repeated alloc, then free: N objects of one size allocated, then all freed, by one
 * thread. repeat N ROUNDS
 */
#include "worker.h"

#define VARIANTS 3

static const struct {
	const char *name;
	unsigned flags;
} variants[VARIANTS] = {
	{ "before", DRY_CACHE_PUBLISHED_2015 },
	{ "objfreelist", DRY_CACHE_PUBLISHED },
	{ "default", 0 },
};

static void round_of(dry_cache *cache, void **objects, size_t n, double ticks[2])
{
	uint64_t start = worker_ticks(), middle;

	for (size_t i = 0; i < n; i++)
		objects[i] = worker_alloc(cache);
	middle = worker_ticks();
	for (size_t i = 0; i < n; i++)
		dry_cache_free(cache, objects[i]);
	ticks[1] = (double)(worker_ticks() - middle) / (double)n;
	ticks[0] = (double)(middle - start) / (double)n;
}

static void measure(size_t size, void **objects, size_t n, size_t rounds)
{
	dry_heap *heap = worker_heap("repeat");
	dry_cache *cache[VARIANTS];
	double ticks[2];

	for (unsigned v = 0; v < VARIANTS; v++)
		cache[v] = worker_cache(heap, variants[v].name, size, variants[v].flags,
					variants[v].flags ? worker_kernel_limit(size) : 0);
	for (size_t round = 0; round <= rounds; round++)
		for (unsigned i = 0; i < VARIANTS; i++) {
			unsigned v = (unsigned)(i + round) % VARIANTS;
			struct dry_cache_stats s;
			round_of(cache[v], objects, n, ticks);
			dry_cache_stats(cache[v], &s);
			if (round > 0) /* the first one warms up */
				printf("%zu\t%s\t%zu\t%.2f\t%.2f\t%s\t%u\n", size, variants[v].name, round, ticks[0], ticks[1],
				       worker_mgmt_name(s.mgmt), s.objects_per_slab);
		}
	dry_heap_destroy(heap);
}

int main(int argc, char **argv)
{
	size_t n = worker_number(argc, argv, 1, 100000), rounds = worker_number(argc, argv, 2, 15);
	void **objects = calloc(n, sizeof(*objects));

	if (objects == NULL)
		worker_die("out of memory");
	worker_pin(0);
	printf("# unit %s\nsize\tvariant\tround\talloc\tfree\ttype\tobjects\n", worker_unit());
	for (size_t size = 32; size <= 4096; size *= 2)
		measure(size, objects, n, rounds);
	return 0;
}
