/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Strict overcommit (vm.overcommit_memory 2) in every profile, set before the program starts and while it runs: what cannot be is
 * refused at once, the program gets a fair part of what the system still promises, from two threads, and NULL with ENOMEM
 * beyond; nothing of it is lost, half is freed and can be had again. Threads and a library find room when the heap has grown to the
 * limit; forks, which are promised the whole heap again, when the limit was raised. It is raised and lowered meanwhile.
 *
 * The setting is the whole machine's, and other programs would suffer: done only by root, with DRY_TEST_MACHINE=1 in the
 * environment, which says that the machine is there for tests (scripts/check-numa sets it). Else skipped.
 *
 * DRY_TEST_NO_POSIX: it reserves all at once, and the kernel keeps a 32nd of what is mapped from the process, up to 128 MiB.
 * DRY_TEST_NO_NORSEQ: limits are no matter of slots.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/status.h"
#include "../support/pages.h"
#include "../support/pattern.h"

#define MIB   ((size_t)1 << 20)
#define EDGE  64u          /* bytes with a pattern at both ends of a block */
#define ROOM  (96 * MIB)   /* that the system promises beyond what it has promised already */
#define STACK (256u << 10) /* of threads */

static const struct profile {
	const char *conf;
	size_t least; /* of the room in percent, as blocks */
	size_t stays; /* of what is freed in percent; under secure:1 pages of big blocks go back to the system */
} profiles[] = { { "exit_check:1", 55, 50 }, { "check:1", 48, 50 }, { "guard:1", 52, 50 }, { "secure:1", 28, 0 } };

/* ---- the machine's setting ---------------------------------------------------------- */

#define MODE  "/proc/sys/vm/overcommit_memory"
#define LIMIT "/proc/sys/vm/overcommit_kbytes"
#define RATIO "/proc/sys/vm/overcommit_ratio" /* each of the two sets the other to 0 */

static bool put(const char *path, size_t value)
{
	char text[32];
	int fd = open(path, O_WRONLY | O_CLOEXEC), length = snprintf(text, sizeof(text), "%zu", value);
	bool good = fd >= 0 && write(fd, text, (size_t)length) == length;

	if (fd >= 0)
		close(fd);
	return good;
}

/* So many bytes more than are promised now. */
static void promise(size_t bytes)
{
	CHECK(put(LIMIT, file_number("/proc/meminfo", "Committed_AS:") + (bytes >> 10)) && put(MODE, 2));
}

/* ---- blocks ---------------------------------------------------------------------------- */

struct block {
	struct block *next;
	size_t size;
	unsigned char data[];
};

struct worker {
	pthread_t id;
	struct block *first;
	size_t size, total;
};

static void *fill(void *arg)
{
	struct worker *worker = arg;
	struct block *block;

	errno = 0;
	for (worker->total = 0; (block = malloc(worker->size)) != NULL; worker->total += worker->size) {
		block->next = worker->first;
		block->size = worker->size;
		pattern_fill(block->data, EDGE);
		pattern_fill((char *)block + worker->size - EDGE, EDGE);
		worker->first = block;
	}
	CHECK_EQ(errno, ENOMEM);
	return NULL;
}

/* Every so many-th; how many bytes. */
static size_t drop(struct block **first, unsigned step)
{
	size_t total = 0;

	for (unsigned n = 0; *first != NULL; n++) {
		struct block *block = *first;

		CHECK(pattern_holds(block->data, EDGE));
		CHECK(pattern_holds((const char *)block + block->size - EDGE, EDGE));
		if (n % step == 0) {
			*first = block->next;
			total += block->size;
			free(block);
		} else {
			first = &block->next;
		}
	}
	return total;
}

static void start(pthread_t *id, void *(*function)(void *), void *arg)
{
	pthread_attr_t attr;

	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setstacksize(&attr, STACK), 0);
	CHECK_EQ(pthread_create(id, &attr, function, arg), 0);
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
}

static size_t fill_both(struct worker workers[2])
{
	for (unsigned i = 0; i < 2; i++) {
		workers[i].size = i != 0 ? 20000 : 1000;
		start(&workers[i].id, fill, &workers[i]);
	}
	for (unsigned i = 0; i < 2; i++)
		CHECK_EQ(pthread_join(workers[i].id, NULL), 0);
	return workers[0].total + workers[1].total;
}

/* Blocks of up to *arg bytes. */
static void *allocate(void *arg)
{
	for (size_t size = 10; size < *(const size_t *)arg; size += size / 2) {
		void *block = malloc(size);

		CHECK(block != NULL);
		memset(block, 1, size);
		free(block);
	}
	return arg;
}

static void threads_and_libraries(size_t most)
{
	pthread_t ids[4];
	void *library;

	for (unsigned i = 0; i < 4; i++)
		start(&ids[i], allocate, &most);
	for (unsigned i = 0; i < 4; i++)
		CHECK_EQ(pthread_join(ids[i], NULL), 0);
	library = dlopen("libm.so.6", RTLD_NOW);
	CHECK(library != NULL);
	CHECK_EQ(dlclose(library), 0);
}

/* A child is promised again all that its parent has. */
static void threads_libraries_and_forks(void)
{
	size_t most = 100000;
	int status;
	pid_t child;

	threads_and_libraries(most);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		allocate(&most);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
}

/* ---- one profile ------------------------------------------------------------------------- */

static int run(const struct profile *profile, bool running)
{
	static struct worker workers[2];
	size_t had, dropped = 0, again, more, freed = 0, some = 100000;

	if (running) {
		allocate(&some);
		promise(ROOM);
	}
	errno = 0;
	CHECK(malloc((size_t)64 << 30) == NULL && errno == ENOMEM);
	threads_libraries_and_forks();
	had = fill_both(workers);
	for (unsigned i = 0; i < 2; i++)
		dropped += drop(&workers[i].first, 2);
	again = fill_both(workers);
	CHECK(again >= dropped / 2); /* some wait in quarantine */
	drop(&workers[1].first, 1);
	threads_and_libraries(10000); /* they have what the heap has left to them, and what was freed */
	promise(2 * ROOM);
	threads_libraries_and_forks();
	more = fill_both(workers);
	printf("%s%s: %zu MiB of %zu, with twice as much promised then %zu\n", profile->conf, running ? ", running" : "",
	       (had - dropped + again) / MIB, ROOM / MIB, more / MIB);
	fflush(stdout);
	CHECK(had >= ROOM / 100 * (profile->stays != 0 ? profile->least : test_less_apart(profile->least)));
	CHECK(had <= ROOM && more >= ROOM / 2);
	promise(0); /* lowered: what there is stays, and what is freed can be had again */
	for (unsigned i = 0; i < 2; i++)
		freed += drop(&workers[i].first, 2);
	CHECK(fill_both(workers) >= freed / 100 * profile->stays);
	for (unsigned i = 0; i < 2; i++)
		drop(&workers[i].first, 1);
	promise(4 * ROOM); /* raised: a child is promised all that the heap has grown to, freed or not */
	threads_libraries_and_forks();
	return 0;
}

int main(int argc, char **argv)
{
	size_t mode, limit, ratio;
	int status, bad = 0;

	if (argc == 3)
		return run(&profiles[atoi(argv[1])], argv[2][0] == '1');
	if (getenv("DRY_TEST_MACHINE") == NULL || geteuid() != 0) {
		printf("the setting is the whole machine's: not tried\n");
		return 77;
	}
	mode = file_number(MODE, "");
	limit = file_number(LIMIT, "");
	ratio = file_number(RATIO, "");
	for (int i = 0; i < 8 && bad == 0; i++) {
		char which[] = { (char)('0' + i / 2), '\0' }, running[] = { (char)('0' + i % 2), '\0' };
		pid_t child = fork();

		CHECK(child >= 0);
		if (child == 0) {
			setenv("DRYSTONE_CONF", profiles[i / 2].conf, 1);
			if (i % 2 == 0)
				promise(ROOM);
			execl("/proc/self/exe", "overcommit", which, running, (char *)NULL);
			_exit(9);
		}
		CHECK(waitpid(child, &status, 0) == child);
		bad = status;
		CHECK(put(MODE, mode) && put(limit != 0 ? LIMIT : RATIO, limit != 0 ? limit : ratio));
	}
	CHECK_EQ(bad, 0);
	return 0;
}
