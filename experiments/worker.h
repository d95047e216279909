/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the workers of the experiments share. A worker is one small program per
 * experiment; it prints a table, tabulators between the columns, the first line
 * names them. The runner (drystone_experiments/) starts it and reads the table. Like bench/, a worker
 * sees the public headers only.
 *
 * Timings: the variants take turns within one process, so that a disturbance hits all about equally; the figure of
 * a round is the median of its pieces of some hundred operations (struct worker_watch), so that being preempted for
 * a while does not count. Every round is printed; the runner takes ratios within a round and their median. Counts
 * come from drystone's statistics, from a model in the worker, or from a tool around the process (callgrind): they
 * are the same each time.
 */
#ifndef EXPERIMENTS_WORKER_H
#define EXPERIMENTS_WORKER_H

#include <drystone/drystone.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* "experiment: what", exit status 1. */
_Noreturn void worker_die(const char *what);

/*
 * A clock for short spans. On x86-64 the time-stamp counter: cycles at the
 * processor's nominal frequency, read without a call. Elsewhere nanoseconds; worker_unit() says which.
 */
uint64_t worker_ticks(void);
const char *worker_unit(void);

/* CPUs that this process may use. */
unsigned worker_cpus(void);

/* Bind the calling thread to the i-th of them. */
void worker_pin(unsigned i);

/* Run fn(0) ... fn(n - 1) in n threads, thread i bound to CPU i; returns when all have. */
void worker_parallel(unsigned n, void (*fn)(unsigned index));

/* Threads of worker_parallel() wait here for each other. */
void worker_meet(void);

/* A heap of its own with one node; dies if there is none. */
dry_heap *worker_heap(const char *name);

/* A cache; dies if it cannot be had. */
dry_cache *worker_cache(dry_heap *heap, const char *name, size_t size, unsigned flags, unsigned limit);

/* An object, its first byte written. */
static inline void *worker_alloc(dry_cache *cache)
{
	char *object = dry_cache_alloc(cache);

	if (__builtin_expect(object == NULL, 0))
		worker_die("out of memory");
	*(volatile char *)object = 1;
	return object;
}

/* Ticks per operation, piece by piece. */
#define WORKER_PIECE  500 /* operations */
#define WORKER_PIECES 2048

struct worker_watch {
	uint64_t last;
	unsigned count;
	double piece[WORKER_PIECES];
};

void worker_watch_start(struct worker_watch *watch);
void worker_watch_lap(struct worker_watch *watch, size_t operations);
double worker_watch_median(struct worker_watch *watch);

/* n objects; ticks for one. Freed in the order of allocation, or (order) in another. */
double worker_timed_alloc(dry_cache *cache, void **objects, size_t n);
double worker_timed_free(dry_cache *cache, void **objects, const unsigned *order, size_t n);

/* The limit of a kernel cache's array for objects of this size, as the listings of Linux show it. */
unsigned worker_kernel_limit(size_t size);

/* Name of a management type, as the published census has it. */
const char *worker_mgmt_name(enum dry_mgmt mgmt);

/* The value of argument i, or a default: workers take numbers only. */
size_t worker_number(int argc, char **argv, int i, size_t otherwise);

/* A generator with a fixed seed: every variant sees the same requests. */
static inline uint32_t worker_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return (uint32_t)((x * 0x2545f4914f6cdd1dull) >> 32);
}

/* Uniform in [0, n). */
static inline uint32_t worker_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)(((uint64_t)worker_random(state) * n) >> 32);
}

#endif
