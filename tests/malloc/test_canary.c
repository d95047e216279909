/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * secure:1: who has read one canary cannot make another. 2000 blocks, whose canaries are read; from the first one that of each
 * other is forged as if the function were linear in the address, by xor, by sum, or the same all over. None fits. And
 * a block that is freed does not come back at once: of 64 tries fewer than 8 find it among the next two.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/check.h"

#define N    2000
#define SIZE 48 /* what follows is a whole canary; the one behind it has a zero in its midst */

static unsigned char *blocks[N];

static uint64_t canary(const unsigned char *block)
{
	uint64_t word;

	memcpy(&word, block + SIZE, sizeof(word));
	return word;
}

/* One that has a canary: now and then a block of any number stands before a page that faults instead. */
static unsigned char *take(void)
{
	unsigned char *block;

	do
		CHECK(block = malloc(SIZE));
	while ((uintptr_t)(block + SIZE) % 4096 == 0);
	return block;
}

/* What a byte of a canary does not show is not asked for. */
static int is_forged(uint64_t guess, uint64_t real)
{
	return (guess | 0x8080808080808080u) == real;
}

static int forge(unsigned i, unsigned shift)
{
	uint64_t a = (uint64_t)(uintptr_t)(blocks[0] + SIZE), b = (uint64_t)(uintptr_t)(blocks[i] + SIZE);
	const uint64_t golden = 0x9e3779b97f4a7c15u;
	uint64_t known = canary(blocks[0]), real = canary(blocks[i]);

	return is_forged(known, real) || is_forged(known ^ (a * golden ^ b * golden) >> shift, real) ||
	       is_forged(known ^ (a ^ b) >> shift, real) || is_forged(known + ((b - a) >> shift), real) ||
	       is_forged(known + ((b - a) * golden >> shift), real);
}

int main(int argc, char **argv)
{
	int back = 0;

	(void)argc;
	if (!getenv("DRYSTONE_CONF")) {
		setenv("DRYSTONE_CONF", "secure:1,tags:never", 1);
		execv("/proc/self/exe", argv);
	}
	for (int i = 0; i < N; i++)
		blocks[i] = take();
	for (unsigned i = 1; i < N; i++)
		for (unsigned shift = 0; shift < 16; shift++)
			CHECK(!forge(i, shift));
	for (int i = 0; i < 64; i++) {
		void *one = malloc(SIZE), *two;

		free(one);
		OPAQUE(one);
		two = malloc(SIZE);
		back += one == two;
		one = malloc(SIZE);
		OPAQUE(one);
	}
	CHECK(back < 8);
	return 0;
}
