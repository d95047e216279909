/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The corner cases of the malloc family: size 0, overflow, absurd sizes, errno. */
#define _GNU_SOURCE 1
#include <stdint.h>
#include <stdlib.h>

#include "../support/check.h"
#include "../support/glibc.h"
#include "../support/pattern.h"
#include "../support/random.h"

static void test_zero_size(void)
{
	void *blocks[1000], *more[4];

	for (int i = 0; i < 1000; i++) {
		blocks[i] = malloc(0);
		CHECK(blocks[i]);
		for (int k = 0; k < i; k++)
			CHECK(blocks[k] != blocks[i]);
	}
	for (int i = 0; i < 1000; i++)
		free(blocks[i]);
	CHECK((more[0] = calloc(0, 10)) && (more[1] = calloc(10, 0)) && (more[2] = memalign(64, 0)));
	CHECK((more[3] = realloc(NULL, 0)));
	for (int i = 0; i < 4; i++)
		free(more[i]);
	free(NULL);
}

static void test_overflow(void)
{
	size_t half = (size_t)1 << 33, zero = 0;
	char *block = malloc(100);

	CHECK(block);
	OPAQUE(half);
	OPAQUE(zero);
	pattern_fill(block, 100);
	errno = 0;
	CHECK(!calloc(half, half) && errno == ENOMEM);
	errno = 0;
	CHECK(!calloc(SIZE_MAX - zero, 2) && errno == ENOMEM);
	errno = 0;
	CHECK(!calloc(SIZE_MAX / 2 + 1 + zero, 2) && errno == ENOMEM); /* product is 0 modulo 2^64 */
	errno = 0;
	CHECK(!reallocarray(block, half, half) && errno == ENOMEM);
	errno = 0;
	CHECK(!reallocarray(NULL, SIZE_MAX / 2 + 1 + zero, 2) && errno == ENOMEM);
	CHECK(pattern_holds(block, 100));
	block = reallocarray(block, 50, 4);
	CHECK(block && malloc_usable_size(block) >= 200);
	free(block);
}

static void test_absurd_size(size_t size)
{
	/* of what it knows by name the compiler believes that it leaves errno alone */
	int (*volatile aligned)(void **out, size_t align, size_t size) = posix_memalign;
	char *block = malloc(100);
	void *out = block;

	CHECK(block);
	pattern_fill(block, 100);
	OPAQUE(size);
	errno = 0;
	CHECK(!malloc(size) && errno == ENOMEM);
	errno = 0;
	CHECK(!calloc(1, size) && errno == ENOMEM);
	errno = 0;
	CHECK(!calloc(size, 1) && errno == ENOMEM);
	errno = 0;
	CHECK(!realloc(NULL, size) && errno == ENOMEM);
	errno = 0;
	CHECK(!realloc(block, size) && errno == ENOMEM);
	errno = 0;
	CHECK(!reallocarray(block, size, 1) && errno == ENOMEM);
	errno = 0;
	CHECK(!memalign(64, size) && errno == ENOMEM);
	errno = 0;
	CHECK(!aligned_alloc(64, size) && errno == ENOMEM);
	errno = 0;
	CHECK(!valloc(size) && errno == ENOMEM);
	errno = 0;
	CHECK(!pvalloc(size) && errno == ENOMEM);
	errno = 1234;
	CHECK_EQ(aligned(&out, 64, size), ENOMEM);
	CHECK_EQ(errno, ENOMEM);
	CHECK(out == block);
	CHECK(pattern_holds(block, 100));
	free(block);
}

static void test_errno(void)
{
	static const size_t sizes[] = { 1, 100, 5000, 100000, 3 << 20, 300 << 20 };

	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			void *block = malloc(sizes[i]);

			CHECK(block);
			memset(block, 1, sizes[i] < 4096 ? sizes[i] : 4096);
			errno = 1234;
			free(block);
			CHECK_EQ(errno, 1234);
		}
		errno = 4321;
		free(NULL);
		CHECK_EQ(errno, 4321);
	}
}

static void test_realloc_zero(void)
{
	/* glibc frees and returns NULL; C17 leaves both open. Either way the old block is gone or replaced. */
	void *block = malloc(100);

	OPAQUE(block);
	block = realloc(block, 0);
	free(block);
}

static void test_random(struct rng *rng)
{
	enum { N = 2000 };
	static struct {
		void *at;
		size_t size;
	} blocks[N];

	for (size_t step = 0; step < test_scaled(300000); step++) {
		size_t i = rng_below(rng, N);

		if (blocks[i].at)
			CHECK(pattern_holds(blocks[i].at, blocks[i].size));
		free(blocks[i].at);
		blocks[i].size = rng_size(rng, step % 64 ? 13 : 19);
		CHECK(blocks[i].at = malloc(blocks[i].size));
		CHECK((uintptr_t)blocks[i].at % (blocks[i].size < 16 ? 8 : 16) == 0);
		pattern_fill(blocks[i].at, blocks[i].size);
	}
	for (int i = 0; i < N; i++)
		free(blocks[i].at);
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };

	test_zero_size();
	test_overflow();
	test_absurd_size((size_t)PTRDIFF_MAX + 1);
	test_absurd_size((size_t)PTRDIFF_MAX + 100000);
	test_absurd_size(SIZE_MAX - 4096);
	test_absurd_size(SIZE_MAX - 15);
	test_absurd_size(SIZE_MAX);
	test_errno();
	test_realloc_zero();
	test_random(&rng);
	return 0;
}
