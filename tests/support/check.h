/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The test programs' assert: a failed CHECK() prints file:line and ends the
 * process with status 1, at once and without allocating, so that it also works
 * in a forked child, in a thread, and under a broken malloc.
 */
#ifndef DRY_TESTS_CHECK_H
#define DRY_TESTS_CHECK_H

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CHECK(x) ((x) ? (void)0 : check_failed(__FILE__, __LINE__, #x))

/* a == b, with both values in the report. */
#define CHECK_EQ(a, b) check_eq(__FILE__, __LINE__, #a, #b, (long long)(a), (long long)(b))

/* Hide a value from the optimiser, so that no malloc call is removed or folded. */
#define OPAQUE(v) __asm__ volatile("" : "+r"(v) : : "memory")

static inline __attribute__((noreturn)) void check_exit(const char *text, int len, size_t room)
{
	size_t n = len < 0 ? 0 : (size_t)len < room ? (size_t)len : room - 1;
	ssize_t done = write(2, text, n);

	_exit(done == (ssize_t)n ? 1 : 3);
}

static inline __attribute__((noreturn)) void check_failed(const char *file, int line, const char *what)
{
	int error = errno;
	char text[512];

	check_exit(text,
		   snprintf(text, sizeof(text), "%s:%d: check failed: %s (errno %d)\n", file, line, what, error),
		   sizeof(text));
}

static inline void check_eq(const char *file, int line, const char *a, const char *b, long long va, long long vb)
{
	char text[512];

	if (va == vb)
		return;
	check_exit(text,
		   snprintf(text, sizeof(text), "%s:%d: check failed: %s == %s (%lld, %lld)\n", file, line, a, b, va,
			    vb),
		   sizeof(text));
}

#endif
