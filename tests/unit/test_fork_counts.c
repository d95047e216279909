/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The count of the process's memory in the child of a fork: what another thread was mapping, growing or releasing at that moment is
 * in it no more, for the child has not got that thread.
 * DRY_TEST_NO_NORSEQ: big blocks know nothing of slots.
 */
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "heap/heap.h"
#include "page/budget.h"

#define MIB ((size_t)1 << 20)

void *__real_dry_port_reserve(size_t size, size_t align, bool readable);
void *__wrap_dry_port_reserve(size_t size, size_t align, bool readable);
void *__real_dry_port_resize(void *addr, size_t old, size_t size, size_t align);
void *__wrap_dry_port_resize(void *addr, size_t old, size_t size, size_t align);
void __real_dry_port_release(void *addr, size_t size);
void __wrap_dry_port_release(void *addr, size_t size);

static _Thread_local bool waits; /* in the next of these */
static sem_t inside, go;

static void wait_once(void)
{
	if (!waits)
		return;
	waits = false;
	sem_post(&inside);
	while (sem_wait(&go) != 0)
		;
}

void *__wrap_dry_port_reserve(size_t size, size_t align, bool readable)
{
	wait_once();
	return __real_dry_port_reserve(size, align, readable);
}

void *__wrap_dry_port_resize(void *addr, size_t old, size_t size, size_t align)
{
	wait_once();
	return __real_dry_port_resize(addr, old, size, align);
}

void __wrap_dry_port_release(void *addr, size_t size)
{
	wait_once();
	__real_dry_port_release(addr, size);
}

static dry_heap *heap;
static void *block;

static void *maps(void *arg)
{
	(void)arg;
	waits = true;
	CHECK(block = dry_alloc(heap, 64 * MIB));
	CHECK(!waits);
	return NULL;
}

static void *grows(void *arg)
{
	(void)arg;
	waits = true;
	CHECK(block = dry_realloc(heap, block, 128 * MIB));
	CHECK(!waits);
	return NULL;
}

static void *releases(void *arg)
{
	(void)arg;
	dry_free(heap, block);
	waits = true;
	dry_heap_trim(heap);
	CHECK(!waits);
	return NULL;
}

static size_t without; /* bytes counted while there is no block */

/* A child that is forked in the middle counts what there is without the block, and goes on counting. What its parent counts. */
static size_t in_the_middle(void *(*fn)(void *))
{
	pthread_t thread;
	int status;

	CHECK_EQ(pthread_create(&thread, NULL, fn, NULL), 0);
	while (sem_wait(&inside) != 0)
		;
	pid_t pid = fork();
	if (pid == 0) {
		size_t used = dry_budget_used();
		void *other = dry_alloc(heap, 32 * MIB);
		bool counts = other != NULL && dry_budget_used() >= used + 32 * MIB;
		dry_free(heap, other);
		dry_heap_trim(heap);
		_exit(used < without + MIB && without < used + MIB && counts && dry_budget_used() < without + MIB ? 0 : 1);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	sem_post(&go);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return dry_budget_used();
}

int main(void)
{
	CHECK(heap = dry_heap_create(NULL));
	CHECK(sem_init(&inside, 0, 0) == 0 && sem_init(&go, 0, 0) == 0);
	dry_free(heap, dry_alloc(heap, 64 * MIB)); /* the first one brings the table of them all */
	dry_heap_trim(heap);
	without = dry_budget_used();
	CHECK(in_the_middle(maps) >= without + 64 * MIB);
	CHECK(in_the_middle(grows) >= without + 128 * MIB);
	CHECK(in_the_middle(releases) < without + MIB);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	return 0;
}
