/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Children of vfork() that allocate, from threads of which others allocate meanwhile: no block of a child is anybody else's,
 * and what they leave, and free, is their parents'. As OpenJDK's did, which reads a folder between vfork() and exec.
 */
#define _GNU_SOURCE 1
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/pattern.h"
#include "../support/random.h"

#define LIVE 64

static volatile int stop;

struct blocks {
	struct rng rng;
	void *block[LIVE];
	size_t size[LIVE];
};

static void turn(struct blocks *blocks, size_t times)
{
	for (size_t i = 0; i < times; i++) {
		size_t at = rng_below(&blocks->rng, LIVE), size = 1 + rng_below(&blocks->rng, 2000);

		if (blocks->block[at]) {
			CHECK(pattern_holds(blocks->block[at], blocks->size[at]));
			free(blocks->block[at]);
		}
		CHECK(blocks->block[at] = malloc(size));
		pattern_fill(blocks->block[at], blocks->size[at] = size);
	}
}

static void drop(struct blocks *blocks)
{
	for (size_t i = 0; i < LIVE; i++) {
		CHECK(!blocks->block[i] || pattern_holds(blocks->block[i], blocks->size[i]));
		free(blocks->block[i]);
	}
}

static void *busy(void *arg)
{
	struct blocks blocks = { .rng = { (uint64_t)(uintptr_t)arg } };

	while (!stop)
		turn(&blocks, 1000);
	drop(&blocks);
	return NULL;
}

static int folder(void)
{
	DIR *dir = opendir("/");
	int names = 0;

	while (dir && readdir(dir))
		names++;
	return dir && !closedir(dir) ? names : 0;
}

/* Gives up the processor, so that the child goes on on another one or another thread comes to its own. */
static void child(struct blocks *blocks)
{
	for (int i = 0; i < 20; i++) {
		turn(blocks, 100);
		sched_yield();
	}
	_exit(folder() > 0 ? 5 : 6);
}

static __attribute__((noinline)) void parent(struct blocks *blocks)
{
	int status;
	pid_t pid = vfork();

	if (pid == 0)
		child(blocks);
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
}

static void *parents(void *arg)
{
	struct blocks blocks = { .rng = { (uint64_t)(uintptr_t)arg } };

	for (size_t i = 0; i < test_scaled(25); i++) {
		turn(&blocks, 100);
		parent(&blocks);
		turn(&blocks, 100);
	}
	drop(&blocks);
	return NULL;
}

/* One in another one's child, and one that fails. */
static void nested(void)
{
	struct rlimit limit, none = { 0, 0 };
	struct blocks blocks = { .rng = { 1 } };
	int status;
	pid_t inner, pid = vfork();

	if (pid == 0) {
		inner = vfork();
		if (inner == 0) {
			turn(&blocks, 100);
			_exit(3);
		}
		turn(&blocks, 100);
		_exit(inner > 0 && waitpid(inner, &status, 0) == inner && WEXITSTATUS(status) == 3 ? 4 : 1);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 4);
	drop(&blocks);

	if (geteuid() == 0)
		return; /* whom the limit does not hold */
	CHECK(!getrlimit(RLIMIT_NPROC, &limit));
	none.rlim_max = limit.rlim_max;
	CHECK(!setrlimit(RLIMIT_NPROC, &none));
	errno = 0;
	pid = vfork();
	if (pid == 0)
		_exit(0);
	CHECK(pid == -1 && errno == EAGAIN);
	CHECK(!setrlimit(RLIMIT_NPROC, &limit));
}

int main(int argc, char **argv)
{
	uint64_t seed = test_seed(argc, argv);
	pthread_t thread[6];

	nested();
	for (uintptr_t i = 0; i < 6; i++)
		CHECK(!pthread_create(&thread[i], NULL, i < 3 ? busy : parents, (void *)(uintptr_t)(seed + i)));
	for (int i = 3; i < 6; i++)
		CHECK(!pthread_join(thread[i], NULL));
	stop = 1;
	for (int i = 0; i < 3; i++)
		CHECK(!pthread_join(thread[i], NULL));
	return 0;
}
