/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Every limit, at every time, in every profile:
 *
 *   RLIMIT_AS, RLIMIT_DATA, RLIMIT_MEMLOCK (with mlockall(), without the right to more), a control group's (with limit:60%)
 *   x before the program starts, while it runs, lowered while it runs, raised while it runs
 *   x default, check:1, guard:1, secure:1
 *
 * In each, threads are started and a library is opened under the limit; threads allocate until NULL with ENOMEM, the process does
 * not pass the limit and gets a fair part of it; what there was before the limit, and what was had under it, is as it was
 * written; half is freed and can be had again; and when all is freed threads and libraries find room.
 *
 * DRY_TEST_NO_POSIX: it reserves all at once. DRY_TEST_NO_NORSEQ: limits are no matter of slots.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/status.h"
#include "../support/pages.h"
#include "../support/pattern.h"
#include "../support/plugin.h"

#define EDGE    64u       /* bytes with a pattern at both ends of a block */
#define THREADS 2u
#define PIECES  64 /* mappings and slabs of a small program, about */
#define PERCENT 60 /* of a control group */
#ifdef __GLIBC__
#define STACK 256 /* KiB: four of them are the MiB that is left to threads and libraries; glibc keeps those of earlier threads */
#else
#define STACK 192 /* musl maps all anew, with a thread's data and guard pages beside each: 12 KiB more */
#endif

enum { AS, DATA, LOCKED, MORE_LOCKED, GROUP, KINDS };
enum { BEFORE, RUNNING, LOWERED, RAISED, TIMES };
enum { PROFILES = 4 };

static const char *const times[TIMES] = { "before", "running", "lowered", "raised" };
static const char *const profiles[PROFILES] = { "exit_check:1", "check:1", "guard:1", "secure:1" };

#define ALIGNED 512 /* KiB: libraries for AArch64 are laid out for pages of 64 KiB, whatever they are */

/* KiB: the limit that is tested, what is lowered to it and what is raised; how many must be had as blocks in each profile. */
static struct kind {
	const char *name, *status;
	int resource;
	size_t limit, upper, lower, kept, stack, least[PROFILES];
} kinds[KINDS] = {
	{ "address space", "VmSize:", RLIMIT_AS, 256 << 10, 340 << 10, 192 << 10, 8 << 10, STACK,
	  { 205000, 190000, 205000, 50000 } },
	{ "data", "VmData:", RLIMIT_DATA, 64 << 10, 85 << 10, 48 << 10, 8 << 10, STACK, { 48000, 44000, 48000, 20000 } },
	/* what Debian gives; nearly all of it is the program */
	{ "locked", "VmLck:", RLIMIT_MEMLOCK, 8100, 8192, 7200, 50, 32, { 3250, 3000, 3250, 2400 } },
	{ "more locked", "VmLck:", RLIMIT_MEMLOCK, 48 << 10, 64 << 10, 36 << 10, 4 << 10, 32, { 28000, 26000, 28000, 16000 } },
	{ "group", NULL, -1, 64 << 10, 85 << 10, 48 << 10, 8 << 10, STACK, { 30000, 28000, 30000, 24000 } },
};

static const struct kind *kind;
static const char *group;

/* The program is nearly all of what Debian lets it lock: with bigger pages each of its mappings, and of its slabs, is bigger. */
static void fit_pages(void)
{
	size_t more = test_beyond_4k(PIECES) >> 10;

#ifdef __aarch64__
	more += ALIGNED;
#endif

	for (size_t i = 0; i < KINDS; i++)
		kinds[i].least[PROFILES - 1] = test_less_apart(kinds[i].least[PROFILES - 1]);
	kinds[LOCKED].limit += more;
	kinds[LOCKED].upper += more;
	kinds[LOCKED].lower += more;
}

/* ---- limits ------------------------------------------------------------------------ */

static bool put(const char *folder, const char *file, const char *text)
{
	char path[256];
	int fd;
	bool good;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	good = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return good;
}

static bool limit_group(const char *folder, size_t bytes)
{
	char text[32];

	snprintf(text, sizeof(text), "%zu", bytes);
	return put(folder, "memory.limit_in_bytes", text) || put(folder, "memory.max", text);
}

static bool make_group(char *folder, size_t room, size_t bytes)
{
	static const char *const roots[] = { "/sys/fs/cgroup/memory", "/sys/fs/cgroup" };

	for (int i = 0; i < 2; i++) {
		snprintf(folder, room, "%s/drystone-limits-%d", roots[i], (int)getpid());
		if (mkdir(folder, 0755) != 0)
			continue;
		if (limit_group(folder, bytes))
			return true;
		rmdir(folder);
	}
	return false;
}

static void limit_to(size_t bytes)
{
	struct rlimit limit;

	if (kind->resource < 0) {
		CHECK(limit_group(group, bytes));
		return;
	}
	CHECK_EQ(getrlimit(kind->resource, &limit), 0);
	limit.rlim_cur = bytes;
	CHECK_EQ(setrlimit(kind->resource, &limit), 0);
}

/* That the limit can be as high as is wanted here. */
static bool can_be_raised(void)
{
	struct rlimit limit;

	if (kind->resource < 0)
		return true;
	CHECK_EQ(getrlimit(kind->resource, &limit), 0);
	if (limit.rlim_max >= kind->upper << 10)
		return true;
	limit.rlim_max = kind->upper << 10;
	return setrlimit(kind->resource, &limit) == 0;
}

/* Bytes that the limit counts. */
static size_t counted(void)
{
	return status_number(kind->status) << 10;
}

/* ---- blocks ------------------------------------------------------------------------- */

struct block {
	struct block *next;
	size_t size;
	unsigned char data[];
};

static size_t fill(struct block **first, size_t size, size_t most)
{
	struct block *block;
	size_t total = 0;

	errno = 0;
	while (total < most && (block = malloc(size)) != NULL) {
		block->next = *first;
		block->size = size;
		pattern_fill(block->data, EDGE);
		pattern_fill((char *)block + size - EDGE, EDGE);
		*first = block;
		total += size;
	}
	CHECK(total >= most || errno == ENOMEM);
	return total;
}

static void look(const struct block *block)
{
	CHECK(pattern_holds(block->data, EDGE));
	CHECK(pattern_holds((const char *)block + block->size - EDGE, EDGE));
}

/* Every so many-th; how many bytes. */
static size_t drop(struct block **first, unsigned step)
{
	size_t total = 0;
	unsigned n = 0;

	while (*first != NULL) {
		struct block *block = *first;

		look(block);
		if (n++ % step == 0) {
			*first = block->next;
			total += block->size;
			free(block);
		} else {
			first = &block->next;
		}
	}
	return total;
}

static size_t room(size_t size, size_t most)
{
	struct block *first = NULL;
	size_t total = fill(&first, size, most);

	drop(&first, 1);
	return total;
}

/* ---- under the limit ---------------------------------------------------------------------- */

struct worker {
	pthread_t id;
	struct block *first;
	size_t size, had, dropped, again;
};

static pthread_barrier_t together;

static void *work(void *arg)
{
	struct worker *worker = arg;

	pthread_barrier_wait(&together);
	worker->had = fill(&worker->first, worker->size, SIZE_MAX);
	pthread_barrier_wait(&together);
	worker->dropped = drop(&worker->first, 2);
	pthread_barrier_wait(&together);
	worker->again = fill(&worker->first, worker->size, SIZE_MAX);
	return NULL;
}

static void *allocate(void *arg)
{
	struct block *first = NULL;

	CHECK(fill(&first, 5000, 20000) >= 20000);
	drop(&first, 1);
	return arg;
}

static void start(pthread_t *id, void *(*function)(void *), void *arg)
{
	size_t stack = kind->stack << 10, least = (size_t)sysconf(_SC_THREAD_STACK_MIN);
	pthread_attr_t attr;

	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setstacksize(&attr, stack > least ? stack : least), 0);
	CHECK_EQ(pthread_create(id, &attr, function, arg), 0);
}

static void threads_and_libraries(void)
{
	pthread_t ids[4];
	void *library;

	for (unsigned i = 0; i < 4; i++)
		start(&ids[i], allocate, NULL);
	for (unsigned i = 0; i < 4; i++)
		CHECK_EQ(pthread_join(ids[i], NULL), 0);
	library = dlopen(getenv("LIBRARY"), RTLD_NOW);
	if (library == NULL)
		fprintf(stderr, "%s; %zu KiB counted\n", dlerror(), kind->status != NULL ? counted() >> 10 : 0);
	CHECK(library != NULL);
	CHECK_EQ(dlclose(library), 0);
}

/* Blocks until there are no more, from two threads at once; how many bytes there were. */
static size_t fill_up(void)
{
	static struct worker workers[THREADS];
	size_t had = 0, dropped = 0, again = 0;

	CHECK_EQ(pthread_barrier_init(&together, NULL, THREADS), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .size = i % 2 != 0 ? 20000 : 1000 };
		start(&workers[i].id, work, &workers[i]);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		CHECK_EQ(pthread_join(workers[i].id, NULL), 0);
		had += workers[i].had;
		dropped += workers[i].dropped;
		again += workers[i].again;
	}
	CHECK(again >= dropped / 2); /* some wait in quarantine */
	if (kind->status != NULL)
		CHECK(counted() <= kind->limit << 10);
	if (kind == &kinds[AS]) { /* what is left to others, blocks with a mapping of their own do not take, either */
		fill(&workers[1].first, 40000, SIZE_MAX);
		drop(&workers[0].first, 1);
		threads_and_libraries();
	}
	for (unsigned i = 0; i < THREADS; i++)
		drop(&workers[i].first, 1);
	return had - dropped + again;
}

static void lock(void)
{
	if (kind->resource == RLIMIT_MEMLOCK)
		CHECK_EQ(mlockall(MCL_CURRENT | MCL_FUTURE), 0);
}

/* A group's limit is looked at now and then. */
static void wait_for_less(size_t least)
{
	if (kind != &kinds[GROUP])
		return;
	for (int patience = 200; room(5000, least) >= least; patience--) {
		CHECK(patience > 0);
		usleep(20000);
	}
}

static int run(int time, int profile)
{
	const size_t limit = kind->limit << 10, kept_bytes = kind->kept << 10;
	const size_t most = kind->resource < 0 ? limit / 100 * PERCENT : limit;
	struct block *kept = NULL;
	size_t before = 0, got;

	if (time == LOWERED || time == RAISED) {
		limit_to((time == LOWERED ? kind->upper : kind->lower) << 10);
		lock();
	}
	CHECK(fill(&kept, 3000, kept_bytes) >= kept_bytes);
	if (time == RAISED) {
		if (kind->resource < 0)
			wait_for_less(most / 4 * 3);
		before = room(5000, SIZE_MAX);
		if (kind->resource < 0)
			usleep(150000); /* between two looks for a limit that is in the way */
	}
	if (time != BEFORE)
		limit_to(limit);
	if (time == BEFORE || time == RUNNING)
		lock();
	if (time == LOWERED || time == RUNNING)
		wait_for_less(most - kept_bytes);
	threads_and_libraries();
	got = fill_up() + kept_bytes;
	printf("%s, %s, %s: %zu KiB of %zu", kind->name, times[time], profiles[profile], got >> 10, most >> 10);
	if (time == RAISED)
		printf(", before %zu", (before + kept_bytes) >> 10);
	printf("\n");
	fflush(stdout);
	CHECK(got <= most);
	CHECK(got >= kind->least[profile] << 10);
	/* of little locked memory threads and the library took what came, and found it */
	CHECK(time != RAISED || kind == &kinds[LOCKED] || got > before + kept_bytes);
	threads_and_libraries();
	drop(&kept, 1);
	return 0;
}

/* ---- start ---------------------------------------------------------------------------------- */

static void start_program(int which, int time, int profile)
{
	const char *conf = profiles[profile];
	char text[4][16], path[128] = "", options[64];
	int status;
	pid_t child;

	kind = &kinds[which];
	if (kind->least[profile] == 0)
		return;
	if (!can_be_raised()) {
		printf("%s: more than the user may have, not tried\n", kind->name);
		return;
	}
	if (which == GROUP && !make_group(path, sizeof(path), kind->limit << 10)) {
		printf("no control group can be made here: %s, %s not tried\n", times[time], conf);
		return;
	}
	group = path;
	if (which == GROUP && time == RUNNING)
		limit_to((size_t)2 << 30);
	snprintf(options, sizeof(options), which == GROUP ? "%s,limit:%d%%" : "%s", conf, PERCENT);
	snprintf(text[0], sizeof(text[0]), "%d", which);
	snprintf(text[1], sizeof(text[1]), "%d", time);
	snprintf(text[2], sizeof(text[2]), "%d", profile);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		setenv("DRYSTONE_CONF", options, 1);
		/* What is not in the bounding set is lost with execve(), also by root. */
		if (kind->resource == RLIMIT_MEMLOCK)
			prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0);
		if (which == GROUP)
			CHECK(put(path, "cgroup.procs", "0"));
		if (time == BEFORE)
			limit_to(kind->limit << 10);
		execl("/proc/self/exe", "limits", text[0], text[1], text[2], path, (char *)NULL);
		_exit(127);
	}
	CHECK(waitpid(child, &status, 0) == child);
	for (int patience = 100; which == GROUP && rmdir(path) != 0 && errno == EBUSY && patience > 0; patience--)
		usleep(10000);
	if (status != 0)
		printf("%s, %s, %s: status %x\n", kind->name, times[time], conf, (unsigned)status);
	CHECK_EQ(status, 0);
}

int main(int argc, char **argv)
{
	fit_pages();
	if (argc == 5) {
		kind = &kinds[atoi(argv[1])];
		group = argv[4];
		return run(atoi(argv[2]), atoi(argv[3]));
	}
	CHECK(!setenv("LIBRARY", "libresolv.so.2", 1));
#ifndef __GLIBC__ /* musl is one library */
	static char path[64];

	/* LD_PRELOAD, which the compiler does not get, is the program's again. */
	const char *preload = getenv("LD_PRELOAD") != NULL ? strdup(getenv("LD_PRELOAD")) : NULL;

	plugin_build(path, sizeof(path), "plugin", "int answer(void) { return 42; }\n", "");
	CHECK(!setenv("LIBRARY", path, 1) && (preload == NULL || !setenv("LD_PRELOAD", preload, 1)));
#endif
	for (int which = 0; which < KINDS; which++)
		for (int time = 0; time < TIMES; time++)
			for (int profile = 0; profile < PROFILES; profile++) {
				fflush(stdout);
				start_program(which, time, profile);
			}
#ifndef __GLIBC__
	CHECK(!unlink(path) && !rmdir(plugin_directory));
#endif
	return 0;
}
