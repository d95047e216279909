/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What is free in a size's arrays and shared arrays must not keep its slabs for long while the heap grows for other sizes.
 *
 * A live set that drifts: 4 MiB of blocks of one size, each replaced by as many bytes of the next size, in random order; 24
 * sizes. At most four times the live set is resident, and a MiB. (25 times, before growth gave a reason to look.)
 *
 * Batches of one size, 25 to 1600 blocks, every one of another size, most of them freed at once: at most twice what was ever
 * live is resident, and a MiB. (Five times, when each look had to find the heap bigger than the one before.) In two threads
 * at once, which begin before the helper thread makes fences ready: three times.
 *
 * And a population that only swings: 64 live blocks of 16 bytes to 128 KiB, a random one replaced. The pages in use go up and
 * down by hundreds of KiB, which is no reason to look each time (one round for 40 blocks, and three times the time, before).
 */
#include <drystone/drystone.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/random.h"
#include "../support/status.h"

#define LIVE  ((size_t)4 << 20)
#define LEAST 64
#define SIZES 24

static const uint16_t sizes[SIZES] = { 64,  80,  96,  112, 128, 144, 160, 176, 192, 208, 224, 240,
				       256, 288, 320, 352, 384, 416, 448, 480, 512, 576, 640, 704 };
static _Thread_local char *block[LIVE / LEAST + 1];
static _Thread_local size_t count;

static void add(size_t size)
{
	CHECK(block[count] = malloc(size));
	memset(block[count++], (int)size, size);
}

static size_t drift(struct rng *rng)
{
	for (size_t bytes = 0; bytes < LIVE; bytes += sizes[0])
		add(sizes[0]);
	for (unsigned s = 1; s < SIZES; s++) {
		size_t old = count, made = 0;

		rng_shuffle(rng, (void **)block, old);
		while (old > 0) {
			free(block[--old]);
			block[old] = block[--count];
			for (; made + sizes[s] <= LIVE - old * sizes[s - 1]; made += sizes[s])
				add(sizes[s]);
		}
	}
	return 4 * LIVE;
}

#define BATCHES 3000
#define ALIVE   8 /* batches that live on for a while */

static size_t batches(struct rng *rng)
{
	static _Thread_local char *kept[ALIVE][25 << 6];
	size_t number[ALIVE] = { 0 }, bytes[ALIVE] = { 0 }, live = 0, most = 0;

	for (unsigned n = 0; n < BATCHES; n++) {
		size_t size = 16 + rng_below(rng, 1009), at = n / 4 % ALIVE;

		for (count = 0; count < (size_t)25 << n % 7;)
			add(size);
		live += count * size;
		most = live > most ? live : most;
		if (n % 4 == 2) { /* it lives on, and another one goes */
			for (size_t i = 0; i < number[at]; i++)
				free(kept[at][i]);
			live -= bytes[at];
			memcpy(kept[at], block, count * sizeof(block[0]));
			number[at] = count;
			bytes[at] = count * size;
		} else {
			live -= count * size;
			while (count > 0)
				free(block[--count]);
		}
	}
	return 2 * most;
}

struct work {
	struct rng rng;
	size_t most;
};

static void *thread(void *argument)
{
	struct work *work = argument;

	work->most = batches(&work->rng);
	return NULL;
}

static size_t two_threads(struct rng *rng)
{
	struct work work[2] = { { { rng_next(rng) }, 0 }, { { rng_next(rng) }, 0 } };
	pthread_t id[2];

	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&id[i], NULL, thread, &work[i]) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_join(id[i], NULL) == 0);
	return (work[0].most + work[1].most) / 2 * 3;
}

#define REPLACEMENTS 100000u

extern __typeof__(dry_heap_stats) dry_heap_stats __attribute__((weak));

static size_t rounds(void)
{
	struct dry_heap_stats stats;

	CHECK(!dry_heap_stats(NULL, &stats));
	return stats.reaps;
}

static size_t swings(struct rng *rng)
{
	size_t begun = rounds(), made;

	for (unsigned n = 0; n < REPLACEMENTS; n++) {
		size_t least = (size_t)16 << rng_below(rng, 12);
		char **one = &block[rng_below(rng, 64)];

		free(*one);
		CHECK(*one = malloc(least + rng_below(rng, least + 1)));
		**one = 1;
	}
	made = rounds() - begun;
	printf("swings: %zu rounds for %u blocks\n", made, REPLACEMENTS);
	CHECK(made <= REPLACEMENTS / 1000);
	return (size_t)8 << 20; /* some 1.4 MiB are live, and as much again is free at a time */
}

/* In a process of its own, so that its peak is. */
static void run(const char *name, size_t (*work)(struct rng *), uint64_t seed)
{
	pid_t child = fork();
	int status;

	CHECK(child >= 0);
	if (child == 0) {
		struct rng rng = { seed };
		size_t before = status_number("VmHWM:"), most = work(&rng), grown = status_number("VmHWM:") - before;

		printf("%s: peak %zu KiB, at most %zu and 1024 KiB\n", name, grown, most >> 10);
		fflush(stdout);
		CHECK(grown <= (most >> 10) + 1024);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
	uint64_t seed = test_seed(argc, argv);

	run("drift", drift, seed);
	run("batches", batches, seed);
	run("batches of two threads", two_threads, seed);
	if (dry_heap_stats != NULL)
		run("swings", swings, seed);
	return 0;
}
