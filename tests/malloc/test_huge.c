/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * thp:never and thp:always: 64 MiB of small blocks have no huge page, or mostly such at once; thp:auto: what is filled gets them
 * while the program works, for a hundredth of its time; by default, those behind the first 2 MiB, and what of those is freed does
 * not come back. What is freed goes back all the same. By default big blocks have them, too, but giants, and keep them as they are
 * replaced, but not once blocks turn out to stay empty, also under a filter of before the program. A child of a fork has none
 * before it has grown itself. The program starts itself again with each.
 * DRY_TEST_NO_POSIX: that port knows no huge pages. DRY_TEST_NO_NORSEQ: the same pages.
 */
#define _GNU_SOURCE 1
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/glibc.h"
#include "../support/mappings.h"
#include "../support/random.h"
#include "../support/seccomp.h"

#define SIZE  1000
#define COUNT (((size_t)64 << 20) / SIZE)
#define MIB   1024 /* KiB */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

static char *blocks[COUNT];

/* KiB, as the kernel counts them for the whole process. */
static size_t kib(const char *name)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	char line[256];
	size_t value = 0;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, name, strlen(name)) == 0)
			value = strtoul(line + strlen(name), NULL, 10);
	if (file != NULL)
		fclose(file);
	return value;
}

static size_t huge(void)
{
	return kib("AnonHugePages:");
}

/* Whether a mapping of the heap, they are the big ones, is (MADV_HUGEPAGE: hg). */
static bool advised(void)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	char line[512];
	unsigned long from, to, size = 0;
	bool found = false;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			size = to - from;
		else if (strncmp(line, "VmFlags:", 8) == 0)
			found |= size >= (1 << 20) && strstr(line, " hg") != NULL;
	}
	CHECK(file != NULL);
	fclose(file);
	return found;
}

static int run(const char *word)
{
	size_t before, mappings = test_mappings();

	for (size_t i = 0; i < COUNT; i++) {
		blocks[i] = malloc(SIZE);
		CHECK(blocks[i] != NULL);
		memset(blocks[i], (int)i | 1, SIZE);
	}
	CHECK(test_mappings() <= mappings + 12); /* not one for each huge page */
	printf("%s: %zu KiB in huge pages of %zu\n", word, huge(), kib("Rss:"));
	fflush(stdout);
	CHECK(strcmp(word, "thp:never") == 0 ? huge() == 0 : huge() >= 32 * MIB);
	before = kib("Rss:");
	for (size_t i = 0; i < COUNT; i++) {
		CHECK(blocks[i][0] == (char)((int)i | 1) && blocks[i][SIZE - 1] == blocks[i][0]);
		free(blocks[i]);
	}
	malloc_trim(0);
	CHECK(kib("Rss:") <= before - 60 * MIB);
	/* khugepaged would fill what is advised to have huge pages */
	CHECK(strcmp(word, "thp:system") != 0 || !advised());
	return 0;
}

#define BIG   ((size_t)8 << 20)
#define GIANT ((size_t)200 << 20)

/* Blocks of which one byte in sixteen pages is touched. KiB that they take. */
static size_t spots(size_t count, size_t size)
{
	size_t before = kib("Rss:");

	for (size_t i = 0; i < count; i++) {
		char *block = malloc(size);

		CHECK(block != NULL);
		for (size_t at = 0; at < size; at += 16 * 4096)
			block[at] = 1;
		OPAQUE(block);
	}
	return kib("Rss:") - before;
}

/* Whether the system puts huge pages everywhere, asked or not. */
static bool everywhere(void)
{
	FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
	char line[64] = "";
	bool found = file != NULL && fgets(line, sizeof(line), file) != NULL && strstr(line, "[always]") != NULL;

	if (file != NULL)
		fclose(file);
	return found;
}

static int run_big(void)
{
	char *block = malloc(BIG);
	size_t giant = spots(1, GIANT), first, later;

	CHECK(block != NULL);
	memset(block, 1, BIG);
	printf("big: %zu KiB in huge pages\n", huge());
	CHECK(huge() >= BIG / 1024 / 2);
	CHECK(giant < GIANT / 1024 / 8 || everywhere());
	first = spots(2, BIG);
	/* the second of them is looked at, by its end */
	later = spots(8, BIG);
	printf("spots in a giant: %zu KiB; in two blocks: %zu; in eight more: %zu\n", giant, first, later);
	CHECK(later < BIG / 1024 || everywhere());
	free(block);
	return 0;
}

/* Clock ticks of processor time: of all threads but the first. */
static long others(void)
{
	char path[64], line[512] = "";
	long own = (long)clock() / (CLOCKS_PER_SEC / sysconf(_SC_CLK_TCK)), user = 0, system = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
	FILE *file = fopen(path, "r");
	CHECK(file != NULL && fgets(line, sizeof(line), file) != NULL && strrchr(line, ')') != NULL);
	fclose(file);
	CHECK(sscanf(strrchr(line, ')') + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &user, &system) == 2);
	return own - user - system;
}

/* thp:auto, of a big block or small ones: none at once, nor while nothing is done; then some, and the time for them is bounded. */
static int run_auto(bool big)
{
	char *block = big ? malloc(4 * BIG) : NULL, *empty = malloc(2 * BIG);
	size_t least = 8 * MIB, filled = 0, before;

	CHECK((block != NULL || !big) && empty != NULL);
	for (; big ? filled < 4 * BIG : filled < COUNT; filled += big ? 4096 : 1)
		if (big)
			block[filled] = 1;
		else
			memset(blocks[filled] = malloc(SIZE), 1, SIZE);
	CHECK(huge() == 0 || everywhere());
	usleep(300000);
	CHECK(huge() == 0 || everywhere());
	before = kib("Rss:");
	while (huge() < least && clock() < 60 * CLOCKS_PER_SEC)
		for (volatile int i = 0; i < 20000000; i++)
			;
	printf("%s: %zu KiB in huge pages after %ld ms of processor time, %ld ticks of it for others\n",
	       big ? "a big block" : "small blocks", huge(), (long)clock() / (CLOCKS_PER_SEC / 1000), others());
	fflush(stdout);
	CHECK(huge() >= least);
	CHECK(kib("Rss:") < before + 4 * MIB); /* of what is not filled there is no more */
	CHECK(others() <= 10 + (long)clock() / CLOCKS_PER_SEC * sysconf(_SC_CLK_TCK) / 50);
	for (size_t i = 0; i < filled; i += big ? 4096 : 1)
		CHECK((big ? block[i] : blocks[i][SIZE - 1]) == 1);
	return 0;
}

#define LIVE 12

/* Blocks of 5 to 25 MB that are filled and replaced: they stay in huge pages as memory is split, joined, moved and made bigger. */
static int run_replaced(void)
{
	static char *live[LIVE];
	struct rusage usage;
	struct rng rng = { 1 };
	long pages = 0, before;

	CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
	before = usage.ru_minflt;
	for (int i = 0; i < 150; i++) {
		size_t place = rng_below(&rng, LIVE), size = 5000000 + rng_below(&rng, 20000000);

		free(live[place]);
		live[place] = malloc(size);
		CHECK(live[place] != NULL);
		memset(live[place], i | 1, size);
		pages += (long)(size / 4096);
	}
	CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
	printf("replaced: %ld pages, %ld faults, %zu KiB in huge pages of %zu\n", pages, usage.ru_minflt - before, huge(),
	       kib("Rss:"));
	fflush(stdout);
	CHECK(usage.ru_minflt - before < pages / 25);
	CHECK(huge() > kib("Rss:") / 10 * 6);
	return 0;
}

/* Many blocks of which nothing but the first byte is used have no huge pages, but some of them, before anything is known. */
static int run_starts(void)
{
	for (int i = 0; i < 100; i++) {
		char *block = malloc(BIG);

		CHECK(block != NULL);
		*block = 1;
		OPAQUE(block);
	}
	printf("first bytes of 100 blocks: %zu KiB in huge pages\n", huge());
	CHECK(huge() <= 24 * MIB || everywhere());
	return 0;
}

/* Blocks of which the ends are not used have no huge pages, once that was seen. */
static int run_ends(void)
{
	size_t before = 0;

	for (int i = 0; i < 25; i++) {
		char *block = malloc(2 * BIG);

		CHECK(block != NULL);
		memset(block, 1, BIG);
		OPAQUE(block);
		usleep(11000); /* it is looked at again, but not at once */
		if (i == 15)
			before = huge();
	}
	printf("without their ends: %zu KiB in huge pages, then %zu\n", before, huge());
	CHECK(huge() <= before || everywhere());
	return 0;
}

static void fill(size_t count)
{
	while (count-- > 0) {
		char *block = malloc(SIZE);

		CHECK(block != NULL);
		memset(block, 1, SIZE);
		OPAQUE(block);
	}
}

/* Blocks until there are more huge pages; how many. */
static size_t fill_one(void)
{
	size_t before = huge(), count = 0;

	for (; huge() <= before && count < COUNT; count += 16)
		fill(16);
	return count;
}

/* A server whose processes are forked with a heap of some MiB: a little memory of its own is no huge page in each. */
static int run_forked(void)
{
	size_t in_one, before, little;
	pid_t child;
	int status;

	fill_one();
	in_one = fill_one();
	fill(in_one / 8 * 7);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		before = huge();
		fill(in_one / 4);
		little = huge();
		printf("forked: %zu KiB in huge pages, then %zu; %zu blocks in one\n", before, little, in_one);
		fflush(stdout);
		CHECK(little <= before || everywhere());
		CHECK(fill_one() < 3 * in_one);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return 0;
}

/* Whether the machine gives huge pages at all, to who asks, or in place of others. */
static bool gives(int advice)
{
	size_t size = (size_t)4 << 20;
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool given;

	CHECK(at != MAP_FAILED);
	if (advice != MADV_COLLAPSE)
		madvise(at, size, advice);
	memset(at, 1, size);
	given = (advice != MADV_COLLAPSE || madvise(at, size, advice) == 0) && huge() > 0;
	munmap(at, size);
	return given;
}

/* A container's or a service's filter, which allows what the dynamic linker needs, and the looks and sleeps of this test. */
static void filter(void)
{
	static const int calls[] = { LEAST, THREADS, LOADER, SYS_getrusage, SYS_clock_nanosleep };

	seccomp_install(calls, sizeof(calls) / sizeof(calls[0]), 1, 0);
}

static void start(const char *word, const char *blocks_are, bool filtered)
{
	pid_t child = fork();
	int status;

	CHECK(child >= 0);
	if (child == 0) {
		setenv("DRYSTONE_CONF", word, 1);
		if (filtered)
			filter();
		execl("/proc/self/exe", "huge", word, blocks_are, (char *)NULL);
		_exit(127);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return strcmp(argv[2], "big") == 0      ? run_big() :
		       strcmp(argv[2], "replaced") == 0 ? run_replaced() :
		       strcmp(argv[2], "ends") == 0     ? run_ends() :
		       strcmp(argv[2], "starts") == 0   ? run_starts() :
		       strcmp(argv[2], "forked") == 0   ? run_forked() :
		       strncmp(argv[2], "auto", 4) == 0 ? run_auto(argv[2][4] != 0) :
							  run(argv[1]);
	start("thp:never", "small", false);
	if (gives(MADV_HUGEPAGE)) {
		start("thp:system", "small", false);
		start("thp:system", "big", false);
		for (int filtered = 0; filtered < (KNOWS_FILES ? 2 : 1); filtered++) {
			start("thp:system", "replaced", filtered);
			start("thp:system", "ends", filtered);
		}
		start("thp:system", "starts", false);
		start("thp:system", "forked", false);
		start("thp:always", "small", false);
	}
	if (gives(MADV_COLLAPSE)) {
		start("thp:auto,decay_ms:10", "auto", false);
		start("thp:auto,decay_ms:10", "auto big", false);
	}
	return 0;
}
