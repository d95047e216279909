/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#define _GNU_SOURCE
#include "worker.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>

void worker_die(const char *what)
{
	fflush(stdout);
	fprintf(stderr, "experiment: %s\n", what);
	exit(1);
}

uint64_t worker_ticks(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

const char *worker_unit(void)
{
#ifdef __x86_64__
	return "cycles";
#else
	return "ns";
#endif
}

static cpu_set_t allowed;

unsigned worker_cpus(void)
{
	if (CPU_COUNT(&allowed) == 0 && sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return 1;
	return (unsigned)CPU_COUNT(&allowed);
}

void worker_pin(unsigned i)
{
	cpu_set_t one;

	i %= worker_cpus();
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed) && i-- == 0) {
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
			return;
		}
}

static pthread_barrier_t barrier;
static void (*parallel_fn)(unsigned);

static void *thread_main(void *arg)
{
	unsigned index = (unsigned)(uintptr_t)arg;

	worker_pin(index);
	worker_meet();
	parallel_fn(index);
	return NULL;
}

void worker_parallel(unsigned n, void (*fn)(unsigned index))
{
	pthread_t thread[256];

	worker_cpus();
	parallel_fn = fn;
	if (n > 256 || pthread_barrier_init(&barrier, NULL, n) != 0)
		worker_die("too many threads");
	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&thread[i], NULL, thread_main, (void *)(uintptr_t)i) != 0)
			worker_die("cannot create a thread");
	for (unsigned i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	pthread_barrier_destroy(&barrier);
}

void worker_meet(void)
{
	pthread_barrier_wait(&barrier);
}

/* Grace periods for the census: it makes caches and no object, so there is nothing to wait for. */
static void call_at_once(void *arg, struct dry_grace_head *head, void (*func)(struct dry_grace_head *))
{
	(void)arg;
	func(head);
}

static void no_barrier(void *arg)
{
	(void)arg;
}

dry_heap *worker_heap(const char *name)
{
	static const struct dry_grace grace = { call_at_once, no_barrier, NULL };
	struct dry_heap_attr attr = { .name = name, .nodes = 1, .grace = &grace };
	dry_heap *heap = dry_heap_create(&attr);

	if (heap == NULL)
		worker_die("no heap");
	return heap;
}

dry_cache *worker_cache(dry_heap *heap, const char *name, size_t size, unsigned flags, unsigned limit)
{
	struct dry_cache_attr attr = { .name = name, .size = size, .flags = flags | DRY_CACHE_NO_MERGE, .limit = limit };
	dry_cache *cache = dry_cache_create(heap, &attr);

	if (cache == NULL)
		worker_die("no cache");
	return cache;
}

void worker_watch_start(struct worker_watch *watch)
{
	watch->count = 0;
	watch->last = worker_ticks();
}

void worker_watch_lap(struct worker_watch *watch, size_t operations)
{
	uint64_t now = worker_ticks();

	if (watch->count < WORKER_PIECES)
		watch->piece[watch->count++] = (double)(now - watch->last) / (double)operations;
	watch->last = now;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double worker_watch_median(struct worker_watch *watch)
{
	if (watch->count == 0)
		worker_die("nothing was timed");
	qsort(watch->piece, watch->count, sizeof(watch->piece[0]), by_value);
	return watch->piece[watch->count / 2];
}

double worker_timed_alloc(dry_cache *cache, void **objects, size_t n)
{
	struct worker_watch watch;

	worker_watch_start(&watch);
	for (size_t i = 0; i < n;) {
		size_t begin = i, end = n - i < WORKER_PIECE ? n : i + WORKER_PIECE;
		for (; i < end; i++)
			objects[i] = worker_alloc(cache);
		worker_watch_lap(&watch, end - begin);
	}
	return worker_watch_median(&watch);
}

double worker_timed_free(dry_cache *cache, void **objects, const unsigned *order, size_t n)
{
	struct worker_watch watch;

	worker_watch_start(&watch);
	for (size_t i = 0; i < n;) {
		size_t begin = i, end = n - i < WORKER_PIECE ? n : i + WORKER_PIECE;
		for (; i < end; i++)
			dry_cache_free(cache, objects[order ? order[i] : i]);
		worker_watch_lap(&watch, end - begin);
	}
	return worker_watch_median(&watch);
}

unsigned worker_kernel_limit(size_t size)
{
	return size > 4096 ? 8 : size > 1024 ? 24 : size > 256 ? 54 : 120;
}

const char *worker_mgmt_name(enum dry_mgmt mgmt)
{
	static const char *const names[] = { "objfreelist", "leftover", "off_slab", "dedicated", "bitmap", "chain" };

	return names[mgmt];
}

size_t worker_number(int argc, char **argv, int i, size_t otherwise)
{
	return i < argc ? strtoul(argv[i], NULL, 10) : otherwise;
}
