/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Address space that is taken, and limits that the program sets on itself while it runs: RLIMIT_AS, RLIMIT_DATA, RLIMIT_MEMLOCK.
 * They hold, threads and libraries find room beside, nothing is lost, and a raised limit can be used. Blocks are not
 * touched but for their first bytes: it is about what is reserved, which strict overcommit does not charge. Under check:1 and
 * secure:1 the bars are lower, for a byte or two of each 16, canaries, and pages around blocks.
 * DRY_TEST_NO_POSIX: there all is reserved at start.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../support/check.h"
#include "../support/status.h"
#include "../support/glibc.h"
#include "../support/pages.h"
#include "../support/plugin.h"

#define MIB  ((size_t)1 << 20)
#define MOST 2000000

static void *blocks[MOST];
static char library_name[64] = "libresolv.so.2";

/* Of a profile, MiB: reserved at start, with 512; before a limit. MB: had under limits; in quarantine. MiB: locked; of 300. */
static const struct bars {
	const char *conf;
	size_t start, full, data, half, before, limited, big, kept, locked, sizes;
} profiles[] = {
	{ "", 100, 750, 700, 450, 100, 400, 400, 0, 82, 225 },
	{ "check:1", 100, 750, 725, 425, 100, 370, 370, 0, 85, 205 },
	{ "secure:1", 200, 1000, 850, 340, 20, 250, 200, 12, 150, 185 },
}, *bars = profiles;

/* Bytes. */
static size_t status_of(const char *name)
{
	return status_number(name) << 10;
}

/* Blocks of one size until there are no more, or `most` bytes; how many there are then. */
static size_t fill(size_t from, size_t size, size_t most)
{
	for (errno = 0; from < MOST && from * size < most; from++) {
		blocks[from] = malloc(size);
		if (blocks[from] == NULL) {
			CHECK_EQ(errno, ENOMEM);
			break;
		}
		*(size_t *)blocks[from] = from;
	}
	return from;
}

static void drop(size_t from, size_t to)
{
	for (; from < to; from++) {
		CHECK_EQ(*(size_t *)blocks[from], from);
		free(blocks[from]);
	}
}

static void limit_to(int resource, size_t bytes)
{
	struct rlimit limit;

	CHECK(getrlimit(resource, &limit) == 0);
	limit.rlim_cur = bytes != 0 ? bytes : limit.rlim_max;
	CHECK(setrlimit(resource, &limit) == 0);
}

static void *allocate(void *arg)
{
	void *block = malloc(5000);

	CHECK(block != NULL);
	free(block);
	return arg;
}

static void threads_and_libraries(void)
{
	pthread_t ids[4];
	void *library;

	for (unsigned i = 0; i < 4; i++)
		CHECK(pthread_create(&ids[i], NULL, allocate, NULL) == 0);
	for (unsigned i = 0; i < 4; i++)
		CHECK(pthread_join(ids[i], NULL) == 0);
	library = dlopen(library_name, RTLD_NOW);
	CHECK(library != NULL);
	CHECK(dlclose(library) == 0);
}

static void reserved(void)
{
	size_t start = status_of("VmSize:"), n;

	CHECK(start < bars->start * MIB);
	n = fill(0, 5000, 512 * MIB);
	CHECK_EQ(n, 512 * MIB / 5000 + 1);
	printf("reserved: %zu MiB, with 512 MiB live %zu\n", start / MIB, status_of("VmSize:") / MIB);
	CHECK(status_of("VmSize:") < bars->full * MIB);
	CHECK(status_of("VmData:") < bars->data * MIB); /* what strict overcommit counts */
	drop(0, n);
}

/* `ulimit -v 500000` while it runs. */
static void half_gigabyte(void)
{
	size_t n;

	limit_to(RLIMIT_AS, (size_t)500000 << 10);
	n = fill(0, 1000, SIZE_MAX);
	printf("500000 KiB: %zu MB of 1,000 bytes\n", n / 1000);
	CHECK(n >= bars->half * 1000 && n <= 512000);
	drop(0, n);
}

/* What a limit is set to, and what is had under it, ends with the child. */
static void in_child(void (*function)(void))
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		function();
		fflush(stdout);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
}

/* A bar that was set with pages of 4 KiB, for blocks of pages, under secure:1 with one beside: so much of them is blocks. */
static size_t of_pages(size_t bar, size_t size)
{
	size_t beside = strncmp(bars->conf, "secure", 6) == 0 ? 1 : 0, page = test_page_size();

	if (size <= 32768)
		return bar;
	return bar * ((size + 4095) / 4096 + beside) / ((size + page - 1) / page + beside) * 4096 / page;
}

static size_t one_size;

static size_t fill_with_one_size(void)
{
	size_t n = fill(0, one_size, SIZE_MAX);

	printf("300 MiB: %zu MiB of %zu bytes\n", n * one_size / MIB, one_size);
	fflush(stdout);
	CHECK(n == MOST || n * one_size >= of_pages(bars->sizes * MIB, one_size));
	return n;
}
static void only_fill_with_one_size(void)
{
	fill_with_one_size();
}

/* No size gets far less of a limit than the others: objects that fill their slab, slabs with a page beside, runs of 9 pages. */
static void sizes_under(int resource)
{
	static const size_t sizes[] = { 100, 2000, 4000, 4104, 8000, 16000, 33000, 40000, 66000, 300000, 600000 };

	limit_to(resource, 300 * MIB);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		one_size = sizes[i];
		in_child(only_fill_with_one_size);
	}
}
static void sizes_under_address_space(void)
{
	sizes_under(RLIMIT_AS);
}
static void sizes_under_data(void)
{
	sizes_under(RLIMIT_DATA);
}

/*
 * What blocks of one size had is had by those of another when they are freed, small after big and big after small; and in the end
 * by threads, with stacks of 8 MiB, and libraries.
 */
static void sizes_in_turn(int resource)
{
	static const size_t sizes[] = { 1000, 33000, 200, 66000, 1000, 300000, 5000, 600000, 5000000, 1000, 5000000, 1000, 100000,
					1000 };

	limit_to(resource, 300 * MIB);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		one_size = sizes[i];
		size_t n = fill_with_one_size();
		CHECK(status_of(resource == RLIMIT_AS ? "VmSize:" : "VmData:") <= 300 * MIB);
		drop(0, n);
	}
	threads_and_libraries();
}
static void turns_under_address_space(void)
{
	sizes_in_turn(RLIMIT_AS);
}
static void turns_under_data(void)
{
	sizes_in_turn(RLIMIT_DATA);
}

/* A limit below what there is already, all of it free: nothing can be mapped until some of that is given up. */
static void lowered_below(int resource)
{
	static const size_t sizes[] = { 33000, 200000, 600000, 5000000 };
	size_t n = fill(0, 60000, 200 * MIB);

	drop(0, n);
	limit_to(resource, 150 * MIB);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		n = fill(0, sizes[i], SIZE_MAX);
		printf("lowered to 150 MiB: %zu MiB of %zu bytes\n", n * sizes[i] / MIB, sizes[i]);
		fflush(stdout);
		CHECK(n * sizes[i] >= of_pages(75 * MIB, sizes[i]));
		drop(0, n);
	}
	threads_and_libraries();
	CHECK(status_of(resource == RLIMIT_AS ? "VmSize:" : "VmData:") <= 150 * MIB);
}
static void lowered_address_space(void)
{
	lowered_below(RLIMIT_AS);
}
static void lowered_data(void)
{
	lowered_below(RLIMIT_DATA);
}

/* A limit below what there is; what is freed then, small blocks that lie together, can be blocks of other sizes. */
static void freed_below(void)
{
	static const size_t sizes[] = { 1000, 33000, 5000000, 1000, 5000000 };
	size_t n = fill(0, 1000, 150 * MIB), live = n / 3, limit = status_of("VmData:") - 26 * MIB, to;
	/* secure:1 with pages of 64 KiB: a page between slabs, and around blocks of 33,000 bytes, is a third of the memory */
	size_t least = bars->kept != 0 && test_page_size() > 4096 ? 30 * MIB : 45 * MIB;

	limit_to(RLIMIT_DATA, limit);
	drop(live, n);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		to = fill(live, sizes[i], SIZE_MAX);
		printf("freed below a limit: %zu MiB of %zu bytes\n", (to - live) * sizes[i] / MIB, sizes[i]);
		fflush(stdout);
		CHECK((to - live) * sizes[i] >= least);
		drop(live, to);
	}
	drop(0, live);
	/* the helper gives back what waits for reuse, within a second or so: stacks need 32 MiB of the limit */
	for (int patience = 200; status_of("VmData:") + 40 * MIB > limit && patience > 0; patience--)
		usleep(50000);
	threads_and_libraries();
}

static void limited(int resource, size_t size, size_t least)
{
	size_t bytes = 500 * 1000 * 1000, before, n, half, more;

	before = fill(0, 30000, bars->before * MIB); /* something is there already */
	limit_to(resource, bytes);
	threads_and_libraries();
	n = fill(before, size, SIZE_MAX);
	printf("limit of 500 MB, blocks of %zu: %zu MB\n", size, ((n - before) * size + before * 30000) / 1000000);
	CHECK((n - before) * size + before * 30000 < bytes);
	CHECK((n - before) * size + before * 30000 > least * 1000000);
	CHECK(status_of(resource == RLIMIT_AS ? "VmSize:" : "VmData:") <= bytes);
	half = before + (n - before) / 2;
	drop(half, n);
	threads_and_libraries();
	more = fill(half, size, SIZE_MAX);
	CHECK(more + bars->kept * 1000000 / size >= n - (n - before) / 20); /* it can be had again */
	limit_to(resource, 0);
	n = fill(more, size, (more + 100) * size);
	CHECK_EQ(n, more + 100);
	threads_and_libraries();
	drop(0, n);
}

static void address_space(void)
{
	limited(RLIMIT_AS, 1000, bars->limited);
}
static void address_space_big(void)
{
	limited(RLIMIT_AS, 1500000, bars->big);
}
static void data(void)
{
	limited(RLIMIT_DATA, 1000, bars->limited);
}

/* KiB that strict overcommit (vm.overcommit_memory 2) charges: what can be written, of nobody's file. */
static size_t charged_now(void)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	char line[1024], rights[5] = "", seen[5];
	size_t from, to, inode, charged = 0, inode_seen;

	CHECK(file != NULL);
	for (from = to = inode = 0; fgets(line, sizeof(line), file) != NULL;) {
		size_t start, end;

		if (sscanf(line, "%zx-%zx %4s %*s %*s %zu", &start, &end, seen, &inode_seen) == 4) {
			from = start, to = end, inode = inode_seen;
			memcpy(rights, seen, sizeof(rights));
		} else if (strncmp(line, "VmFlags:", 8) == 0 && inode == 0) {
			if (rights[1] == 'w')
				charged += to - from;
			else /* reserved: never, nor where there was memory once */
				CHECK(strstr(line, " ac") == NULL);
		}
	}
	fclose(file);
	return charged >> 10;
}

static void charged(void)
{
	size_t n, start = charged_now(), full;

	n = fill(0, 1000, 50 * MIB);
	n = fill(n, 100000, n * 100000 + 50 * MIB);
	full = charged_now();
	drop(n / 2, n);
	malloc_trim(0);
	printf("overcommit: %zu KiB at start, %zu with 100 MiB, %zu with half of the blocks\n", start, full, charged_now());
	CHECK(start < 40 << 10); /* of this program and its father's, 16 MiB in `blocks` */
	CHECK(full > start + (98 << 10) && full < start + (98 << 10) * 2);
	CHECK(charged_now() <= full + (2 * test_page_size() >> 10));
	drop(0, n / 2);
}

/* Memory that is locked is there at once, and counts with all that is reserved. With rights, or where the limit has room. */
static void locked(void)
{
	size_t n, start = status_of("VmSize:");
	struct rlimit limit;

	CHECK(getrlimit(RLIMIT_MEMLOCK, &limit) == 0);
	if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
		CHECK(errno == ENOMEM && limit.rlim_cur < start);
		printf("locked: not tried, the limit is %zu bytes\n", (size_t)limit.rlim_cur);
		return;
	}
	CHECK(status_of("VmLck:") <= start);
	n = fill(0, 1000, 50 * MIB);
	printf("locked: %zu MiB, with %zu MB of blocks %zu\n", start / MIB, n / 1000, status_of("VmLck:") / MIB);
	fflush(stdout);
	CHECK(n == 50 * MIB / 1000 + 1 || limit.rlim_cur != RLIM_INFINITY);
	CHECK(status_of("VmLck:") <= start + bars->locked * MIB);
	drop(0, n);
}

int main(void)
{
	static void (*const each[])(void) = { reserved, half_gigabyte, sizes_under_address_space, sizes_under_data,
					      turns_under_address_space, turns_under_data, lowered_address_space, lowered_data,
					      freed_below,
					      address_space, address_space_big, data, charged, locked };
	const char *conf = getenv("DRYSTONE_CONF");

	for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++)
		if (conf != NULL && strcmp(conf, profiles[i].conf) == 0)
			bars = &profiles[i];
#ifndef __GLIBC__ /* musl is one library */
	plugin_build(library_name, sizeof(library_name), "plugin", "int answer(void) { return 42; }\n", "");
#endif
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		in_child(each[i]);
#ifndef __GLIBC__
	CHECK(!unlink(library_name) && !rmdir(plugin_directory));
#endif
	return 0;
}
