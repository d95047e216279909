/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* malloc_trim, mallinfo, mallinfo2, malloc_info, malloc_stats and mallopt exist and do sane things. */
#define _GNU_SOURCE 1
#include <stdlib.h>

#include "../support/capture.h"
#include "../support/glibc.h"
#include "../support/pattern.h"
#include "../support/random.h"

static void test_mallinfo2(void)
{
	enum { N = 10000, SIZE = 1000, BIG = 64 << 20 };
	static void *blocks[N];
	struct mallinfo2 before = mallinfo2(), full, after;
	void *big = malloc(BIG);

	CHECK(big);
	for (int i = 0; i < N; i++) {
		CHECK(blocks[i] = malloc(SIZE));
		memset(blocks[i], 1, SIZE);
	}
	full = mallinfo2();
	CHECK(full.uordblks + full.hblkhd >= before.uordblks + before.hblkhd + (size_t)N * SIZE + BIG);
	CHECK(full.arena + full.hblkhd >= (size_t)N * SIZE + BIG);
	CHECK(full.uordblks <= full.arena + full.hblkhd);
	for (int i = 0; i < N; i++)
		free(blocks[i]);
	free(big);
	after = mallinfo2();
	CHECK(after.uordblks + after.hblkhd + (size_t)N * SIZE / 2 + BIG < full.uordblks + full.hblkhd);
}

static void test_malloc_info(void)
{
	char text[65536];
	FILE *file = tmpfile();
	size_t length;

	CHECK(file);
	CHECK_EQ(malloc_info(0, file), 0);
	rewind(file);
	length = fread(text, 1, sizeof(text) - 1, file);
	text[length] = 0;
	CHECK(strncmp(text, "<malloc", 7) == 0);
	CHECK(strstr(text, "</malloc>"));
	errno = 0;
	CHECK(malloc_info(1, file) != 0); /* no options are defined */
	fclose(file);
}

static void test_malloc_stats(void)
{
	enum { BIG = 50 << 20 };
	struct capture capture;
	char text[65536], wanted[100];
	void *big = malloc(BIG);

	CHECK(big);
	capture_begin(&capture);
	malloc_stats();
	fflush(stderr);
	struct mallinfo2 info = mallinfo2();
	CHECK(capture_end(&capture, text, sizeof(text)) > 0);
	CHECK(info.hblkhd >= BIG && info.hblkhd < 2 * BIG);
	snprintf(wanted, sizeof(wanted), "# drystone: bytes in use %zu (%zu of them big blocks) free ", info.uordblks + info.hblkhd,
		 info.hblkhd);
	CHECK(strstr(text, wanted));
	free(big);
}

static void test_trim(struct rng *rng)
{
	enum { N = 5000 };
	static void *blocks[N];

	for (int i = 0; i < N; i++) {
		CHECK(blocks[i] = malloc(3000));
		pattern_fill(blocks[i], 3000);
	}
	rng_shuffle(rng, blocks, N);
	for (int i = 0; i < N / 2; i++)
		free(blocks[i]);
	int result = malloc_trim(0);
	CHECK(result == 0 || result == 1);
	for (int i = N / 2; i < N; i++) {
		CHECK(pattern_holds(blocks[i], 3000));
		free(blocks[i]);
	}
	CHECK_EQ(malloc_trim(0), 1); /* there was something to give back */
	result = malloc_trim(SIZE_MAX / 2);
	CHECK(result == 0 || result == 1);
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };

	test_mallinfo2();
	test_malloc_info();
	test_malloc_stats();
	test_trim(&rng);
	int result = mallopt(M_ARENA_MAX, 2);
	CHECK(result == 0 || result == 1);
	CHECK(mallopt(M_MMAP_THRESHOLD, 1 << 20) == 0 || mallopt(M_MMAP_THRESHOLD, 1 << 20) == 1);
	void *block = malloc(100);
	CHECK(block);
	free(block);
	return 0;
}
