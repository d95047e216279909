/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Repeated alloc, then free: N objects of one size allocated, then all freed, by one
 * thread.
 *
 *   repeat time N ROUNDS            ticks, piece by piece
 *   repeat count N SIZE VARIANT     once, for callgrind: allocation from repeat_alloc() on, frees from
 *                                   repeat_free() on, to repeat_end()
 */
#include <drystone/experiment.h>
#include "worker.h"

#include <string.h>

#define VARIANTS 3

static const struct {
	const char *name;
	unsigned flags;
} variants[VARIANTS] = {
	{ "before", DRY_CACHE_PUBLISHED_2015 },
	{ "objfreelist", DRY_CACHE_PUBLISHED },
	{ "default", 0 },
};

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
			ticks[0] = worker_timed_alloc(cache[v], objects, n);
			ticks[1] = worker_timed_free(cache[v], objects, NULL, n);
			dry_cache_stats(cache[v], &s);
			if (round > 0) /* the first one warms up */
				printf("%zu\t%s\t%zu\t%.2f\t%.2f\t%s\t%u\n", size, variants[v].name, round, ticks[0], ticks[1],
				       worker_mgmt_name(s.mgmt), s.objects_per_slab);
		}
	dry_heap_destroy(heap);
}

/* Marks for a tool that counts between them. */
__attribute__((noinline)) void repeat_alloc(void)
{
	__asm__ volatile("");
}

__attribute__((noinline)) void repeat_free(void)
{
	__asm__ volatile("");
}

__attribute__((noinline)) void repeat_end(void)
{
	__asm__ volatile("");
}

/* The second time, when pages and arrays are there. */
static void count(void **objects, size_t n, size_t size, const char *name)
{
	unsigned v = 0;

	while (v < VARIANTS && strcmp(variants[v].name, name) != 0)
		v++;
	if (v == VARIANTS)
		worker_die("no such variant");
	dry_cache *cache = worker_cache(worker_heap("repeat"), name, size, variants[v].flags,
					variants[v].flags ? worker_kernel_limit(size) : 0);
	for (int turn = 0; turn < 2; turn++) {
		if (turn == 1)
			repeat_alloc();
		for (size_t i = 0; i < n; i++)
			objects[i] = worker_alloc(cache);
		if (turn == 1)
			repeat_free();
		for (size_t i = 0; i < n; i++)
			dry_cache_free(cache, objects[i]);
	}
	repeat_end();
}

int main(int argc, char **argv)
{
	size_t n = worker_number(argc, argv, 2, 100000), third = worker_number(argc, argv, 3, 15);
	void **objects = calloc(n, sizeof(*objects));

	if (objects == NULL)
		worker_die("out of memory");
	worker_pin(0);
	if (argc == 5 && strcmp(argv[1], "count") == 0) {
		count(objects, n, third, argv[4]);
		return 0;
	}
	printf("# unit %s\nsize\tvariant\tround\talloc\tfree\ttype\tobjects\n", worker_unit());
	for (size_t size = 32; size <= 4096; size *= 2)
		measure(size, objects, n, third);
	return 0;
}
