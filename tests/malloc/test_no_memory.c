/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The system refuses memory at random moments: the limit on address space goes down to
 * what is in use, and up again, while blocks of all sizes are allocated, resized and freed.
 * A failure is NULL and ENOMEM, the old block stays as it was, and afterwards all is well.
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "../support/check.h"
#include "../support/pattern.h"
#include "../support/random.h"
#include "../support/statm.h"

#define N 4000

static struct {
	void *at;
	size_t size;
} blocks[N];
static size_t failures, successes;

static void limit_to(rlim_t bytes)
{
	struct rlimit limit;

	CHECK(!getrlimit(RLIMIT_AS, &limit));
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	CHECK(!setrlimit(RLIMIT_AS, &limit));
}

/* The block at i becomes one of another size, or stays exactly what it was. */
static void resize(size_t i, size_t size)
{
	size_t common = blocks[i].size < size ? blocks[i].size : size;
	void *block = realloc(blocks[i].at, size);

	if (!block) {
		CHECK_EQ(errno, ENOMEM);
		failures++;
		return;
	}
	successes++;
	CHECK(!blocks[i].at || pattern_holds_key(block, common / 8 * 8, i));
	pattern_fill_key(block, size, i);
	blocks[i].at = block;
	blocks[i].size = size;
}

static void replace(size_t i, size_t size, struct rng *rng)
{
	free(blocks[i].at);
	blocks[i].at = rng_below(rng, 3) ? malloc(size) : calloc(1, size);
	blocks[i].size = blocks[i].at ? size : 0;
	if (!blocks[i].at) {
		CHECK_EQ(errno, ENOMEM);
		failures++;
		return;
	}
	successes++;
	pattern_fill_key(blocks[i].at, size, i);
}

static void step(struct rng *rng, bool big)
{
	size_t i = rng_below(rng, N), size = rng_size(rng, big ? 23 : 15);

	if (blocks[i].at)
		CHECK(pattern_holds_key(blocks[i].at, blocks[i].size, i));
	errno = 0;
	if (rng_below(rng, 3) == 0)
		resize(i, size);
	else if (rng_below(rng, 8) == 0 && blocks[i].at)
		(void)(free(blocks[i].at), blocks[i].at = NULL, blocks[i].size = 0);
	else
		replace(i, size, rng);
}

/* As with libc: what is to be smaller stays where it is, if there is no memory for less. */
static void shrinks(void)
{
	static const size_t sizes[] = { 4000, 30000, 100000, 600000, 5000000 };
	static void *filling[10000];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *block = malloc(sizes[i]);
		size_t least[] = { 40, 300, 3000, 33000, 140000 }, n = 0;

		CHECK(block);
		pattern_fill_key(block, sizes[i], i);
		limit_to(test_address_space());
		for (size_t size = 1 << 20; size >= 16 && n < 10000; filling[n] == NULL ? size /= 2 : n++)
			filling[n] = malloc(size);
		for (size_t j = i + 1; j-- > 0;) {
			block = realloc(block, least[j]);
			CHECK(block && pattern_holds_key(block, least[j] / 8 * 8, i));
		}
		limit_to(RLIM_INFINITY);
		while (n > 0)
			free(filling[--n]);
		free(block);
	}
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };

	for (size_t round = 0; round < test_scaled(400); round++) {
		size_t room = rng_below(&rng, 3) ? rng_size(&rng, 22) : 0, steps = rng_below(&rng, 1500);

		limit_to(test_address_space() + room);
		for (size_t i = 0; i < steps; i++)
			step(&rng, rng_below(&rng, 100) == 0);
		limit_to(RLIM_INFINITY);
		if (round % 16 == 15) { /* with room again, everything succeeds */
			size_t before = failures;

			for (int i = 0; i < 2000; i++)
				step(&rng, rng_below(&rng, 100) == 0);
			CHECK_EQ(failures, before);
		}
		if (round % 64 == 63) {
			for (size_t i = 0; i < N; i++) {
				CHECK(!blocks[i].at || pattern_holds_key(blocks[i].at, blocks[i].size, i));
				free(blocks[i].at);
				blocks[i].at = NULL;
				blocks[i].size = 0;
			}
		}
	}
	for (size_t i = 0; i < N; i++)
		free(blocks[i].at);
	shrinks();
	printf("%zu refused, %zu granted\n", failures, successes);
	/* An allocator may find address space of its own to give up; then nothing is refused. */
	CHECK(successes > 0);
	return 0;
}
