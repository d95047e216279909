/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The restartable sequences of the program itself, as machine code: found by their descriptors
 * in the part of its data that is read-only after relocation, not by a list. A descriptor is known by
 * its form (kernel ABI, linux/rseq.h) and by the signature in front of its abort address.
 */
#ifndef DRY_TESTS_RSEQ_SEQUENCES_H
#define DRY_TESTS_RSEQ_SEQUENCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOST_SEQUENCES 256
#define MOST_PLACES    96
#define MOST_BYTES     512 /* of one sequence */

struct sequence {
	uintptr_t start, post, abort; /* the kernel aborts in [start, post); the abort handler */
	uintptr_t begin;              /* where the abort handler goes back to, at or a little before start */
	/* what the tracer learns: the instructions of [begin, post), in the order of their addresses */
	uintptr_t place[MOST_PLACES];
	bool falls_through[MOST_PLACES]; /* it was seen to be followed by the one behind it */
	unsigned places;
};

extern struct sequence sequences[MOST_SEQUENCES];
extern unsigned sequence_count;

/* Fill in sequences[] but for the places. */
void find_sequences(void);

/* The sequence whose [start, post) has `ip`: there the kernel aborts. NULL: none. */
struct sequence *sequence_at(uintptr_t ip);

/* The sequence that begins at `ip`; NULL: none. */
struct sequence *sequence_from(uintptr_t ip);

/* The lowest address that the program is loaded to. */
uintptr_t image_base(void);

/* "function+offset" of an address in the program, for reports. */
const char *place_name(uintptr_t ip);

/* workload.c: the program that is traced. Ends the process. */
void run_workload(uint64_t seed, bool by_cpu) __attribute__((noreturn));

/* What the tracer reads and writes in the traced process. In the handler: 1; when it has done all it does: 2. */
extern volatile int work_over, work_in_handler;

/* malloc is the sanitizer's then. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#endif
