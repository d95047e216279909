/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Under a limit on address space (`ulimit -v 400000`) or on data (`ulimit -d 200000`): starts,
 * allocates until NULL with ENOMEM, loses nothing, works on after half is freed. The program starts itself
 * again under the limit, so that the library's own start is tested, too. Each has 30 seconds of CPU time, many times what
 * it needs: what the system refuses is not asked for again and again.
 * DRY_TEST_NO_NORSEQ: what is reserved for slots is the same in the POSIX port, whose slots are per thread, too.
 */
#define _GNU_SOURCE 1
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../support/check.h"
#include "../support/pattern.h"
#include "../support/random.h"

#define MOST 4000000

static void *blocks[MOST];

static size_t fill(size_t from, size_t size)
{
	size_t n = from;

	errno = 0;
	for (; (blocks[n] = malloc(size)); n++) {
		CHECK(n + 1 < MOST);
		pattern_fill(blocks[n], size);
	}
	CHECK_EQ(errno, ENOMEM);
	return n;
}

/* At most `kib` KiB: two fifths of it at least must be usable. */
static void run_size(size_t size, size_t kib, struct rng *rng)
{
	size_t n = fill(0, size), half = n / 2, again, usable = n ? malloc_usable_size(blocks[0]) : 0;

	printf("size %zu: %zu blocks, %zu KiB\n", size, n, n * size >> 10);
	fflush(stdout);
	CHECK(n * usable > kib * 1024 / 5 * 2);
	for (size_t i = 0; i < n; i++)
		CHECK(pattern_holds(blocks[i], size));
	errno = 0;
	CHECK(!calloc(1, (size_t)500 << 20) && errno == ENOMEM);
	rng_shuffle(rng, blocks, n);
	for (size_t i = half; i < n; i++)
		free(blocks[i]);
	again = fill(half, size);
	CHECK(again >= n - n / 20); /* it can be had again */
	for (size_t i = 0; i < again; i++) {
		CHECK(pattern_holds(blocks[i], size));
		free(blocks[i]);
	}
}

static void *thread(void *arg)
{
	struct rng rng = { (uint64_t)(uintptr_t)arg };

	for (int i = 0; i < 10000; i++) {
		size_t size = rng_size(&rng, 13);
		void *block = malloc(size);

		CHECK(block);
		pattern_fill(block, size);
		CHECK(pattern_holds(block, size));
		free(block);
	}
	return NULL;
}

static int limited(uint64_t seed, size_t kib, size_t size)
{
	struct rng rng = { seed };
	pthread_attr_t attr;
	pthread_t ids[2];

	CHECK(!pthread_attr_init(&attr));
	CHECK(!pthread_attr_setstacksize(&attr, 256 * 1024));
	for (uintptr_t i = 0; i < 2; i++)
		CHECK(!pthread_create(&ids[i], &attr, thread, (void *)(uintptr_t)(seed + i)));
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_join(ids[i], NULL));
	run_size(size, kib, &rng);
	return 0;
}

static void start(uint64_t seed, int resource, size_t kib, size_t size)
{
	char text[3][32];
	int status;
	pid_t pid;

	snprintf(text[0], 32, "%llu", (unsigned long long)seed);
	snprintf(text[1], 32, "%zu", kib);
	snprintf(text[2], 32, "%zu", size);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		struct rlimit limit = { kib * 1024, kib * 1024 }, seconds = { 30, 30 };

		CHECK(!setrlimit(resource, &limit));
		CHECK(!setrlimit(RLIMIT_CPU, &seconds));
		execl("/proc/self/exe", "limited", text[0], "--limited", text[1], text[2], (char *)NULL);
		_exit(9);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
}

int main(int argc, char **argv)
{
	uint64_t seed = test_seed(argc, argv);

	if (argc == 5)
		return limited(seed, strtoul(argv[3], NULL, 10), strtoul(argv[4], NULL, 10));
	start(seed, RLIMIT_AS, 200000, 100);
	start(seed, RLIMIT_AS, 200000, 4000);
	start(seed, RLIMIT_AS, 200000, 60000);
	start(seed, RLIMIT_AS, 200000, 1500000);
	start(seed, RLIMIT_AS, 200000, 1000);
	start(seed, RLIMIT_DATA, 200000, 1000);
	setenv("DRYSTONE_CONF", "secure:1", 1);
	start(seed, RLIMIT_DATA, 200000, 1000);
	return 0;
}
