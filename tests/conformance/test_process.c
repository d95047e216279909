/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The limit of the whole process: blocks of any size until it is reached, in several heaps; ENOMEM there, what is free is given
 * back first, the program is asked before an allocation fails, and nothing stays counted. dry_ctl() takes and refuses.
 * DRY_TEST_NOT_TINY: it has no options.
 * DRY_TEST_CONF: check=check:1
 */
#define _GNU_SOURCE 1
#include <drystone/process.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/pages.h"

#define LIMIT ((size_t)48 << 20)
#define MOST  600000

static void *blocks[MOST];
static bool linux_port;

/* Resident bytes; 0: not known. */
static size_t resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	size_t pages = 0;

	if (file != NULL && fscanf(file, "%*u %zu", &pages) != 1)
		pages = 0;
	if (file != NULL)
		fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static size_t fill(dry_heap *heap, size_t size)
{
	size_t n = 0;

	errno = 0;
	for (; n < MOST && (blocks[n] = dry_alloc(heap, size)) != NULL; n++)
		memset(blocks[n], 0x5a, size);
	CHECK(n < MOST);
	CHECK_EQ(errno, ENOMEM);
	return n;
}

static void empty(dry_heap *heap, size_t n)
{
	while (n-- > 0)
		dry_free(heap, blocks[n]);
}

/* Above 32 KiB blocks take whole pages, which cost them much only where pages are bigger than 4 KiB. */
static size_t takes(size_t size)
{
	return size > 32768 && test_page_size() > 4096 ? test_up_to_pages(size) : size;
}

/* Each phase finds what the one before it, be it in another heap, has freed, and gets nearly all that is left of the limit. */
static void run_sizes(dry_heap *heap, size_t had)
{
	static const size_t sizes[] = { 100, 5000, 40000, 300000, 3 << 20, 1000, 2 << 20, 200 };
	size_t before;

	dry_heap_trim(NULL);
	dry_heap_trim(heap);
	before = resident();
	CHECK_EQ(dry_ctl("thp", "never"), 0); /* a huge page is resident as a whole */
	CHECK_EQ(dry_ctl("limit", "48M"), 0);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t n = fill(heap, sizes[i]), left = LIMIT - had;

		printf("size %zu: %zu blocks, %zu KiB of %zu counted\n", sizes[i], n, n * sizes[i] >> 10,
		       dry_process_bytes() >> 10);
		fflush(stdout);
		/* an arena estimates how much of a free block has memory: beside the helper thread up to 160 KiB were too many */
		CHECK(dry_process_bytes() <= LIMIT + LIMIT / 100);
		CHECK(n * takes(sizes[i]) >= left / 100 * 80);
		/* the tables beside the pages, and what the test itself has touched */
		CHECK(before == 0 || resident() <= before + LIMIT / 100 * 104 + sizeof(blocks));
		empty(heap, n);
	}
	CHECK_EQ(dry_ctl("limit", "0"), 0);
}

/* Half of the limit, then three quarters where it stands: it does not hold both. */
static void run_realloc(void)
{
	char *block, *bigger;

	if (!linux_port) /* no call moves pages */
		return;
	CHECK_EQ(dry_ctl("limit", "48M"), 0);
	block = dry_alloc(NULL, LIMIT / 2);
	CHECK(block);
	block[0] = block[LIMIT / 2 - 1] = 7;
	bigger = dry_realloc(NULL, block, LIMIT / 4 * 3);
	CHECK(bigger && bigger[0] == 7 && bigger[LIMIT / 2 - 1] == 7);
	errno = 0;
	CHECK(dry_realloc(NULL, bigger, LIMIT * 2) == NULL && errno == ENOMEM);
	CHECK(bigger[LIMIT / 2 - 1] == 7);
	dry_free(NULL, bigger);
	CHECK_EQ(dry_ctl("limit", "0"), 0);
}

static struct {
	void *kept[40];
	size_t count, asked;
} stash;

static bool give(void *arg, size_t bytes)
{
	CHECK(arg == &stash && bytes != 0);
	stash.asked++;
	if (stash.count == 0)
		return false;
	dry_free(NULL, stash.kept[--stash.count]);
	return true;
}

/* A program that keeps 40 MiB that it can do without, in big blocks and in runs of pages. */
static void run_callback(size_t size)
{
	size_t had = dry_process_bytes(), n;

	for (stash.count = 0; stash.count < 40; stash.count++)
		CHECK(stash.kept[stash.count] = memset(dry_alloc(NULL, 1 << 20), 1, 1 << 20));
	stash.asked = 0;
	CHECK_EQ(dry_ctl("limit", "48M"), 0);
	dry_on_limit(give, &stash);
	n = fill(NULL, size);
	CHECK_EQ(stash.count, 0);
	CHECK(stash.asked > 40);
	CHECK(n * size >= (LIMIT - had) / 100 * 80);
	dry_on_limit(NULL, NULL);
	empty(NULL, n);
	CHECK_EQ(dry_ctl("limit", "0"), 0);
}

/* ---- another callback, at any time ------------------------------------------------------ */

static struct who {
	atomic_size_t asked; /* with its own argument */
} whoes[2];
static atomic_bool replaced_enough;

static bool first(void *arg, size_t bytes)
{
	CHECK(arg == &whoes[0] && bytes != 0);
	atomic_fetch_add(&whoes[0].asked, 1);
	return false;
}

static bool second(void *arg, size_t bytes)
{
	CHECK(arg == &whoes[1] && bytes != 0);
	atomic_fetch_add(&whoes[1].asked, 1);
	return false;
}

static void *replace(void *arg)
{
	while (!atomic_load(&replaced_enough)) {
		dry_on_limit(second, &whoes[1]);
		dry_on_limit(first, &whoes[0]);
	}
	return arg;
}

/* Each allocation that fails has asked one of the two, which got its own argument. */
static void run_replaced(void)
{
	const size_t tries = 100000;
	pthread_t id;

	dry_on_limit(first, &whoes[0]);
	CHECK_EQ(pthread_create(&id, NULL, replace, NULL), 0);
	CHECK_EQ(dry_ctl("limit", "48M"), 0);
	size_t n = fill(NULL, 400000);
	whoes[0].asked = whoes[1].asked = 0;
	for (size_t i = 0; i < tries; i++) {
		void *block = dry_alloc(NULL, 400000);
		OPAQUE(block);
		CHECK(block == NULL);
	}
	atomic_store(&replaced_enough, true);
	CHECK_EQ(pthread_join(id, NULL), 0);
	CHECK_EQ(whoes[0].asked + whoes[1].asked, tries);
	dry_on_limit(NULL, NULL);
	empty(NULL, n);
	CHECK_EQ(dry_ctl("limit", "0"), 0);
}

static void run_bulk(void)
{
	struct dry_cache_attr attr = { .name = "limited", .size = 500, .flags = DRY_CACHE_NO_MERGE };
	dry_cache *cache = dry_cache_create(NULL, &attr);
	size_t n = 0;

	CHECK(cache);
	CHECK_EQ(dry_ctl("limit", "48M"), 0);
	while (dry_cache_alloc_bulk(cache, 1000, blocks + n) == 1000)
		n += 1000;
	CHECK(n * 500 >= LIMIT / 100 * 75 && dry_process_bytes() <= LIMIT);
	dry_cache_free_bulk(cache, n, blocks);
	CHECK_EQ(dry_cache_destroy(cache), 0);
	CHECK_EQ(dry_ctl("limit", "0"), 0);
}

static void run_words(void)
{
	static const char *const good[][2] = { { "limit", "1G" }, { "limit", "0" }, { "thp", "never" }, { "thp", "always" },
					       { "thp", "auto" }, { "thp", "system" }, { "numa", "interleave" },
					       { "numa", "off" }, { "numa", "local" }, { "decay_ms", "100" },
					       { "background", "0" }, { "background", "1" }, { "abort", "1" } };
	static const char *const bad[][2] = { { "limit", "" }, { "limit", "1T" }, { "limit", "0%" }, { "limit", "101%" },
					      { "limit", "-1" }, { "limit", "10KB" }, { "limit", "99999999999999999999" },
					      { "limit", "18446744073709551615G" }, { "thp", "" }, { "thp", "nev" },
					      { "numa", "locals" }, { "decay_ms", "9" }, { "decay_ms", "x" },
					      { "abort", "2" }, { "nothing", "1" }, { "", "" }, { "limi", "1G" } };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		CHECK_EQ(dry_ctl(good[i][0], good[i][1]), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_EQ(dry_ctl(bad[i][0], bad[i][1]), -EINVAL);
	CHECK_EQ(dry_ctl("limit", NULL), -EINVAL);
	CHECK_EQ(dry_ctl(NULL, "1"), -EINVAL);
	CHECK_EQ(dry_ctl("secure", "1"), -EBUSY);
	CHECK_EQ(dry_ctl("check", "1"), -EBUSY);
	/* the machine's, or of a control group: bigger than what this takes; POSIX does not tell */
	int rc = dry_ctl("limit", "100%");
	CHECK(rc == 0 || rc == -EINVAL);
	linux_port = rc == 0;
	CHECK_EQ(dry_ctl("limit", "0"), 0);
}

static pthread_barrier_t end;

static void *rest(void *arg)
{
	pthread_barrier_wait(&end);
	return arg;
}

int main(void)
{
	size_t before;
	dry_heap *heap;
	pthread_t id;

	run_words();
	dry_heap_trim(NULL);
	before = dry_process_bytes();
	heap = dry_heap_create(NULL);
	CHECK(heap);
	run_sizes(NULL, before);
	run_sizes(heap, before);
	/* beside a thread, which makes the helper thread begin: what that is giving back is waited for */
	CHECK_EQ(pthread_barrier_init(&end, NULL, 2), 0);
	CHECK_EQ(pthread_create(&id, NULL, rest, NULL), 0);
	for (int i = 0; i < 3; i++)
		run_sizes(NULL, before);
	pthread_barrier_wait(&end);
	CHECK_EQ(pthread_join(id, NULL), 0);
	CHECK_EQ(dry_heap_check(heap), 0);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	run_realloc();
	run_callback(700);
	run_callback(400000);
	run_replaced();
	run_bulk();
	CHECK_EQ(dry_heap_check(NULL), 0);
	dry_heap_trim(NULL);
	/* what caches of new sizes keep for themselves */
	CHECK(dry_process_bytes() <= before + ((size_t)4 << 20));
	return 0;
}
