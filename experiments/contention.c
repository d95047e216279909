/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Contention: every thread allocates N objects, all at once; then every thread frees its N,
 * all at once. Ticks are per operation, the mean of the threads. Rounds of the locks are per 1,000 allocations.
 * contention N ROUNDS THREADS (0: one for each CPU)
 */
#include <drystone/experiment.h>
#include "worker.h"

#define VARIANTS    3
#define MAX_THREADS 256

static const struct {
	const char *name;
	unsigned flags;
} variants[VARIANTS] = {
	{ "before", DRY_CACHE_PUBLISHED | DRY_CACHE_ATTACH_FIRST },
	{ "after", DRY_CACHE_PUBLISHED },
	{ "default", 0 },
};

static size_t n, rounds, size;
static unsigned threads;
static dry_cache *cache[VARIANTS];
static void **objects[MAX_THREADS];
static double ticks[MAX_THREADS][2];

static void report(size_t round, unsigned v, const struct dry_cache_stats s[3])
{
	double sum[2] = { 0, 0 }, thousands = (double)n * threads / 1000;

	for (unsigned t = 0; t < threads; t++)
		for (unsigned phase = 0; phase < 2; phase++)
			sum[phase] += ticks[t][phase] / threads;
	printf("%zu\t%s\t%u\t%zu\t%.2f\t%.2f", size, variants[v].name, threads, round, sum[0], sum[1]);
	for (unsigned phase = 0; phase < 2; phase++)
		printf("\t%.3f\t%.3f", (double)(s[phase + 1].node_locks - s[phase].node_locks) / thousands,
		       (double)(s[phase + 1].shared_locks - s[phase].shared_locks) / thousands);
	putchar('\n');
}

static void turn(unsigned index, unsigned v, size_t round)
{
	struct dry_cache_stats s[3];

	if (index == 0)
		dry_cache_stats(cache[v], &s[0]);
	worker_meet();
	ticks[index][0] = worker_timed_alloc(cache[v], objects[index], n);
	worker_meet();
	if (index == 0)
		dry_cache_stats(cache[v], &s[1]);
	worker_meet();
	ticks[index][1] = worker_timed_free(cache[v], objects[index], NULL, n);
	worker_meet();
	if (index == 0) {
		dry_cache_stats(cache[v], &s[2]);
		if (round > 0) /* the first one warms up */
			report(round, v, s);
		dry_cache_shrink(cache[v]); /* all start without slabs */
	}
	worker_meet();
}

static void thread(unsigned index)
{
	for (size_t round = 0; round <= rounds; round++)
		for (unsigned i = 0; i < VARIANTS; i++)
			turn(index, (unsigned)(i + round) % VARIANTS, round);
}

int main(int argc, char **argv)
{
	n = worker_number(argc, argv, 1, 20000);
	rounds = worker_number(argc, argv, 2, 15);
	threads = (unsigned)worker_number(argc, argv, 3, 0);
	if (threads == 0)
		threads = worker_cpus();
	if (threads > MAX_THREADS)
		threads = MAX_THREADS;
	for (unsigned t = 0; t < threads; t++)
		if ((objects[t] = calloc(n, sizeof(void *))) == NULL)
			worker_die("out of memory");
	printf("# unit %s\nsize\tvariant\tthreads\tround\talloc\tfree\t"
	       "alloc_node_locks\talloc_shared_locks\tfree_node_locks\tfree_shared_locks\n", worker_unit());
	for (size = 32; size <= 4096; size *= 2) {
		dry_heap *heap = worker_heap("contention");
		for (unsigned v = 0; v < VARIANTS; v++)
			cache[v] = worker_cache(heap, variants[v].name, size, variants[v].flags,
						variants[v].flags ? worker_kernel_limit(size) : 0);
		worker_parallel(threads, thread);
		dry_heap_destroy(heap);
	}
	return 0;
}
