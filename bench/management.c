/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What each management type costs: 100,000 objects allocated, then freed, from a typed
 * cache of one type. Nanoseconds per allocation and per free, best of several rounds with the
 * types in turn; "shuffled" frees in random order, which is where a slab's bookkeeping
 * is touched object by object. docs/design/slab-management.md quotes it.
 */
#include <drystone/drystone.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define OBJECTS 100000
#define ROUNDS  15

static const struct {
	const char *name;
	unsigned flag;
} types[] = {
	{ "objfreelist", DRY_CACHE_OBJFREELIST }, { "normal", DRY_CACHE_NORMAL }, { "off-slab", DRY_CACHE_OFF_SLAB },
	{ "bitmap", DRY_CACHE_BITMAP },           { "chain", DRY_CACHE_CHAIN },
};
#define TYPES (sizeof(types) / sizeof(types[0]))

static void *objects[OBJECTS];
static unsigned order[OBJECTS];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void shuffle(void)
{
	unsigned state = 2463534242u;

	for (unsigned i = 0; i < OBJECTS; i++)
		order[i] = i;
	for (unsigned i = OBJECTS - 1; i > 0; i--) {
		state ^= state << 13, state ^= state >> 17, state ^= state << 5;
		unsigned j = state % (i + 1), swap = order[i];
		order[i] = order[j];
		order[j] = swap;
	}
}

static void least(double *best, double value)
{
	if (*best == 0 || value < *best)
		*best = value;
}

static void round_of(dry_cache *cache, double best[3])
{
	for (int shuffled = 0; shuffled < 2; shuffled++) {
		double start = now(), middle;
		for (unsigned i = 0; i < OBJECTS; i++)
			objects[i] = dry_cache_alloc(cache);
		middle = now();
		for (unsigned i = 0; i < OBJECTS; i++)
			dry_cache_free(cache, objects[shuffled ? order[i] : i]);
		if (!shuffled)
			least(&best[0], (middle - start) / OBJECTS);
		least(&best[1 + shuffled], (now() - middle) / OBJECTS);
	}
}

static void measure(size_t size)
{
	dry_cache *cache[TYPES];
	double best[TYPES][3] = { { 0 } };
	struct dry_cache_stats s;

	for (size_t t = 0; t < TYPES; t++) {
		struct dry_cache_attr attr = { .name = types[t].name, .size = size, .flags = DRY_CACHE_NO_MERGE | types[t].flag };
		cache[t] = dry_cache_create(NULL, &attr);
	}
	for (int round = 0; round < ROUNDS; round++)
		for (size_t t = 0; t < TYPES; t++)
			if (cache[t])
				round_of(cache[t], best[t]);
	for (size_t t = 0; t < TYPES; t++) {
		if (!cache[t])
			continue;
		dry_cache_stats(cache[t], &s);
		printf("%5zu %-12s %4u x %2u pages %6zu %8.1f %8.1f %8.1f\n", size, types[t].name, s.objects_per_slab,
		       s.pages_per_slab, s.waste, best[t][0], best[t][1], best[t][2]);
		dry_cache_destroy(cache[t]);
	}
}

int main(void)
{
	shuffle();
	printf(" size type         objects a slab   waste    alloc     free shuffled\n");
	for (size_t size = 8; size <= 4096; size *= 2)
		measure(size);
	return 0;
}
