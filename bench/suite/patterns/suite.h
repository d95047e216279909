/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The frame of the patterns: what programs do to an allocator, each written from a description of it.
 *
 *   PROGRAM PATTERN THREADS SCALE
 *
 * runs one pattern once, in this process. SCALE multiplies the work, not the size of what is live at a time
 * (below a hundredth some patterns make less of that, too). It prints, a line each:
 *
 *   # malloc PATH      the library that serves malloc
 *   ops N              operations done; what an operation is, docs/bench-suite.md says
 *   check HEX          of what the blocks held: the same under every allocator
 *   resident KIB       at the end of the pattern
 *   settled KIB        the same after SUITE_IDLE seconds without work, if that is set in the environment
 *   live BYTES         held at that moment; patterns that end with nothing say 0
 *   run SIZE MALLOC FREE   pattern `runs`: nanoseconds each
 *
 * A block carries its size and a mark, which are looked at before it is freed: blocks that overlap are noticed.
 *
 * Threads: a pattern's function runs once in each; with one thread it is the main thread and the process has no other.
 */
#ifndef DRY_BENCH_SUITE_H
#define DRY_BENCH_SUITE_H

#include "common.h"

#ifdef __cplusplus
extern "C" {
#endif

struct suite {
	unsigned threads;
	double scale;
	size_t live;
};

struct suite_pattern {
	const char *name;
	void (*run)(struct suite *suite);
};

/* One per thread, each on cache lines of its own; only its thread writes it. */
struct suite_worker {
	struct suite *suite;
	unsigned index;
	uint64_t random; /* state of bench_random(), the same in each run */
	size_t ops;
	uint64_t check; /* sum: the order in which threads do things does not matter */
} __attribute__((aligned(128)));

/* patterns ends with a NULL name. The exit status for main(). */
int suite_main(int argc, char **argv, const struct suite_pattern *patterns);

/* Runs fn once per thread, waits for all, and adds up what they did. */
void suite_threads(struct suite *suite, void (*fn)(struct suite_worker *worker));

/* For what is not done by suite_threads(). */
void suite_add(size_t ops, uint64_t check);

/* `full` times the scale, at least 1; share: of one thread. */
size_t suite_count(const struct suite *suite, double full);
size_t suite_share(const struct suite *suite, double full);

/* A thread that nobody waits for. */
void suite_detach(void *(*fn)(void *), void *arg);

__attribute__((noreturn)) void suite_damaged(const void *block);

/* ---- marked blocks, of at least 16 bytes: the mark and a link ---- */

struct suite_block {
	uint32_t size, mark;
	struct suite_block *next; /* the owner's, for lists that need no memory */
};

#define SUITE_PAGE 4096

static inline uint32_t suite_mark_of(uint32_t size)
{
	return size * 2654435761u ^ 0x5bd1e995u;
}

/* Writes the mark, a byte in each page, and the last one. */
static inline struct suite_block *suite_mark(void *memory, size_t size)
{
	struct suite_block *block = (struct suite_block *)memory;

	if (__builtin_expect(block == NULL, 0))
		bench_die("out of memory");
	for (size_t at = SUITE_PAGE; at < size; at += SUITE_PAGE)
		((volatile char *)memory)[at] = 1;
	((volatile char *)memory)[size - 1] = 1;
	block->size = (uint32_t)size;
	block->mark = suite_mark_of((uint32_t)size);
	return block;
}

static inline struct suite_block *suite_alloc(size_t size)
{
	return suite_mark(malloc(size), size);
}

/* The block is as it was marked; returns its size. It is not marked any more. */
static inline uint32_t suite_unmark(struct suite_block *block)
{
	uint32_t size = block->size;

	if (__builtin_expect(block->mark != suite_mark_of(size), 0))
		suite_damaged(block);
	block->mark = 0;
	return size;
}

/* NULL is let pass, as by free(). */
static inline void suite_free(struct suite_block *block)
{
	if (block != NULL)
		suite_unmark(block);
	free(block);
}

/* Sizes by a power law: half of them 16 to 31 bytes, each doubling half as likely, up to 16 KiB. */
static inline size_t suite_power_law(uint64_t *random)
{
	uint32_t r = bench_random(random);
	size_t low = (size_t)16 << __builtin_ctz(r | 1u << 9);

	return low + ((r >> 10) & (low - 1));
}

#ifdef __cplusplus
}
#endif

#endif
