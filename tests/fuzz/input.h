/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The input of a fuzz target, read as a stream. Past its end it gives zeros, so that every
 * input is a valid one; a target loops until input_more() is false.
 */
#ifndef DRY_TESTS_FUZZ_INPUT_H
#define DRY_TESTS_FUZZ_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* As CHECK() of the other tests, but it ends in a signal: both drivers then keep the input. */
#define EXPECT(x) ((x) ? (void)0 : expect_failed(__FILE__, __LINE__, #x))

static inline __attribute__((noreturn)) void expect_failed(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: check failed: %s\n", file, line, what);
	abort();
}

/* What every target defines; libFuzzer or driver.c calls it. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *at, *end;
};

static inline bool input_more(const struct input *in)
{
	return in->at < in->end;
}

static inline unsigned input_8(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

static inline unsigned input_16(struct input *in)
{
	unsigned low = input_8(in);

	return low | input_8(in) << 8;
}

static inline uint64_t input_64(struct input *in)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < 64; i += 8)
		value |= (uint64_t)input_8(in) << i;
	return value;
}

/* A size of any magnitude up to 2^bits from two bytes; small ones as likely as big ones. */
static inline size_t input_size(struct input *in, unsigned bits)
{
	unsigned value = input_16(in), shift = (value >> 8) % (bits > 8 ? bits - 7 : 1);

	return ((size_t)(value & 0xff) << shift) + (value >> 13);
}

#endif
