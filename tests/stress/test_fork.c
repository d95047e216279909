/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Forks in the middle of it all: the child, which has the forking thread alone, verifies what
 * that thread holds, allocates and frees from the same caches and from malloc, and exits 0.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "../support/mix.h"

static __attribute__((noreturn)) void child(struct mix *mix, struct mix_block *held, struct rng *rng)
{
	alarm(60); /* a hang is a failure */
	for (int i = 0; i < MIX_HELD; i++)
		if (held[i].at)
			CHECK(pattern_holds(held[i].at, held[i].size));
	mix_work(mix, held, rng, 500, false);
	for (int i = 0; i < MIX_CACHES; i++) {
		dry_cache_shrink(mix->caches[i]);
		CHECK_EQ(dry_cache_check(mix->caches[i]), 0);
	}
	mix_drop(mix, held);
	void *block = malloc(100000);
	CHECK(block);
	free(block);
	_exit(0);
}

static void fork_once(struct mix *mix, struct mix_block *held, struct rng *rng)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid)
		child(mix, held, rng);
	mix_work(mix, held, rng, 200, true);
	CHECK(waitpid(pid, &status, 0) == pid);
	if (status)
		fprintf(stderr, "child ended with status %#x\n", (unsigned)status);
	CHECK_EQ(status, 0);
}

int main(int argc, char **argv)
{
	static struct mix mix;
	static struct mix_block held[MIX_HELD];
	uint64_t seed = test_seed(argc, argv);
	struct rng rng = { seed };

	for (unsigned threads = 2; threads <= 8; threads += 3) {
		struct dry_heap_attr attr = { .name = "fork", .nodes = threads / 2 };
		size_t forks = test_scaled(60);

		mix_start(&mix, &attr, threads, seed + threads);
		for (size_t i = 0; mix_goes_on(&mix, i, forks); i++)
			fork_once(&mix, held, &rng);
		mix_drop(&mix, held);
		mix_finish(&mix);
	}
	return 0;
}
