/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A program of heap errors: a table of cases, each run in a process of its own. What the program does after
 * an error tells whether it was noticed:
 *
 *   a signal               noticed, or it crashed at once: the error did not go on in silence; late, if the line
 *                          "went on" was written: then only the end of the process showed it
 *   exit status CONTAINED  it went on, but what it was after was not to be had (wiped, another place, NULL)
 *   exit status SILENT     nothing happened
 */
#ifndef DRY_TESTS_HEAPBUGS_CASES_H
#define DRY_TESTS_HEAPBUGS_CASES_H

#include <stddef.h>

enum { SILENT = 40, CONTAINED = 41 };

struct heapbug {
	const char *name;
	int (*run)(void); /* SILENT or CONTAINED, if it returns; NULL: the next one */
	int (*sized)(size_t size, long n);
	size_t size;
	long n;
};

extern const struct heapbug frees[], accesses[], others[], sizes[], classics[], attacks[];
extern const size_t frees_count, accesses_count, others_count, sizes_count, classics_count, attacks_count;

/* Sizes of the cases: one of each way that a block is placed. */
#define SMALL  40
#define EXACT  64  /* as big as its class */
#define MIDDLE 3000
#define LARGE  (256 << 10)
#define HUGE   (3 << 20)

/* A block filled with `SECRET`; the compiler knows nothing about it. */
#define SECRET 0x5a
void *block(size_t size);
/* Hide a pointer or a value from the compiler. */
void *opaque(void *ptr);
/* Allocate and free n blocks of the size, as other parts of a program would. */
void traffic(size_t size, int n);
/* Whether any of n bytes still is the secret. */
int leaks(const void *ptr, size_t n);

#endif
