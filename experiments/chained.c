/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The freelist as a chain through free objects, against the published types and the default.
 *
 *   chained time N ROUNDS           ticks for each; frees in the order of allocation and in random order
 *   chained count N SIZE VARIANT    once, for callgrind: refills from partly used slabs between
 *                                   chained_refill() and chained_flush(), frees up to chained_end()
 */
#include "worker.h"

#include <string.h>

#define VARIANTS 3

static const struct {
	const char *name;
	unsigned flags;
} variants[VARIANTS] = {
	{ "chain", DRY_CACHE_CHAIN },
	{ "published", DRY_CACHE_PUBLISHED },
	{ "default", 0 },
};

static void **objects;
static unsigned *order;
static size_t n;

/* Marks for a tool that counts between them. */
__attribute__((noinline)) void chained_refill(void)
{
	__asm__ volatile("");
}

__attribute__((noinline)) void chained_flush(void)
{
	__asm__ volatile("");
}

__attribute__((noinline)) void chained_end(void)
{
	__asm__ volatile("");
}

static void shuffle(void)
{
	uint64_t state = 2463534242u;

	for (unsigned i = 0; i < n; i++)
		order[i] = i;
	for (unsigned i = (unsigned)n - 1; i > 0; i--) {
		unsigned j = worker_below(&state, i + 1), swap = order[i];
		order[i] = order[j];
		order[j] = swap;
	}
}

static dry_cache *make(dry_heap *heap, size_t size, unsigned v)
{
	/* The same arrays for all, so that batches are of the same length. */
	return worker_cache(heap, variants[v].name, size, variants[v].flags, worker_kernel_limit(size));
}

static void round_of(dry_cache *cache, double ticks[4])
{
	for (int shuffled = 0; shuffled < 2; shuffled++) {
		ticks[2 * shuffled] = worker_timed_alloc(cache, objects, n);
		ticks[2 * shuffled + 1] = worker_timed_free(cache, objects, shuffled ? order : NULL, n);
	}
}

static void measure(size_t size, size_t rounds)
{
	dry_heap *heap = worker_heap("chained");
	dry_cache *cache[VARIANTS];
	struct dry_cache_stats s;
	double ticks[4];

	for (unsigned v = 0; v < VARIANTS; v++)
		cache[v] = make(heap, size, v);
	for (size_t round = 0; round <= rounds; round++)
		for (unsigned i = 0; i < VARIANTS; i++) {
			unsigned v = (unsigned)(i + round) % VARIANTS;
			round_of(cache[v], ticks);
			dry_cache_stats(cache[v], &s);
			if (round > 0)
				printf("%zu\t%s\t%zu\t%.2f\t%.2f\t%.2f\t%s\t%u\t%u\t%zu\n", size, variants[v].name, round,
				       ticks[0], ticks[1], ticks[3], worker_mgmt_name(s.mgmt), s.objects_per_slab,
				       s.pages_per_slab, s.waste);
		}
	dry_heap_destroy(heap);
}

/* Half of the objects go back in random order, so that every slab is partly used; then they are taken again. */
static void count(size_t size, const char *variant)
{
	dry_heap *heap = worker_heap("chained");
	unsigned v = 0;

	while (v < VARIANTS && strcmp(variants[v].name, variant) != 0)
		v++;
	if (v == VARIANTS)
		worker_die("no such variant");
	dry_cache *cache = make(heap, size, v);
	for (size_t i = 0; i < n; i++)
		objects[i] = worker_alloc(cache);
	for (size_t i = 0; i < n / 2; i++)
		dry_cache_free(cache, objects[order[i]]);
	chained_refill();
	for (size_t i = 0; i < n / 2; i++)
		objects[order[i]] = worker_alloc(cache);
	chained_flush();
	for (size_t i = 0; i < n / 2; i++)
		dry_cache_free(cache, objects[order[i]]);
	chained_end();
}

int main(int argc, char **argv)
{
	n = worker_number(argc, argv, 2, 100000);
	objects = calloc(n, sizeof(*objects));
	order = calloc(n, sizeof(*order));
	if (objects == NULL || order == NULL)
		worker_die("out of memory");
	shuffle();
	worker_pin(0);
	if (argc == 5 && strcmp(argv[1], "count") == 0) {
		count(worker_number(argc, argv, 3, 64), argv[4]);
		return 0;
	}
	printf("# unit %s\nsize\tvariant\tround\talloc\tfree\tfree_shuffled\ttype\tobjects\tpages\twaste\n", worker_unit());
	for (size_t size = 16; size <= 4096; size *= 2)
		measure(size, worker_number(argc, argv, 3, 11));
	return 0;
}
