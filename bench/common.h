/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The frame of a benchmark program.
 *
 *   PROGRAM CASE MILLISECONDS REPETITIONS
 *
 * runs one case: it grows the number of rounds until a run lasts the time asked
 * for (which is the warm-up), then repeats, and prints one line "# malloc PATH"
 * (the library that serves malloc, so that a preload that did not take is
 * noticed) and then nanoseconds per operation, one repetition a line.
 *
 * A program only calls the allocator's public functions, through the dynamic
 * linker, so any allocator can be preloaded.
 */
#ifndef DRY_BENCH_COMMON_H
#define DRY_BENCH_COMMON_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bench_case {
	const char *name;
	void (*setup)(void); /* once, not timed; NULL: none */
	/* `rounds` rounds; *ops: operations done. Returns the nanoseconds they took. */
	uint64_t (*run)(size_t rounds, size_t *ops);
};

/* cases ends with a NULL name. The exit status for main(). */
int bench_main(int argc, char **argv, const struct bench_case *cases);

/* "PROGRAM: what", exit status 1. */
__attribute__((noreturn)) void bench_die(const char *what);

/* Prints "# malloc PATH": the library that serves malloc, so that a preload that did not take is noticed. */
void bench_print_served(void);

/* Monotonic nanoseconds. */
uint64_t bench_now(void);

/* Number of CPUs that this process may use. */
unsigned bench_cpus(void);

/* Start n threads; each calls fn(index). They live until the process exits. */
void bench_threads(unsigned n, void (*fn)(unsigned index));

/* A small generator with a fixed seed: every allocator sees the same requests. */
static inline uint32_t bench_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return (uint32_t)((x * 0x2545f4914f6cdd1dull) >> 32);
}

/* Uniform in [low, high]. */
static inline uint32_t bench_range(uint64_t *state, uint32_t low, uint32_t high)
{
	return low + (uint32_t)(((uint64_t)bench_random(state) * (high - low + 1)) >> 32);
}

/* A block was given out: it must be there, and its first byte is written, as any program does. */
static inline void *bench_touch(void *block)
{
	if (__builtin_expect(block == NULL, 0))
		bench_die("out of memory");
	*(volatile char *)block = 1;
	return block;
}

#ifdef __cplusplus
}
#endif

#endif
