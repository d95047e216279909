/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Callbacks that give memory back while other threads need some, fork, or destroy the callback's cache.
 * DRY_TEST_NOT_TINY: no callbacks there.
 */
#include <drystone/process.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"

#define SPARE 100

static dry_heap *heap;
static dry_cache *cache, *keeper;
static void *spare[SPARE];
static atomic_int spares, inside, go, calls, is_child;
static bool forks;

static void enter(void)
{
	calls++;
	inside = 1;
	while (!go && !is_child)
		usleep(1000);
	if (!is_child)
		usleep(50000);
}

static void child(void);

static size_t give(void *arg, size_t bytes)
{
	size_t given = 0;

	CHECK(arg == &spares && bytes != 0);
	if (forks) {
		forks = false;
		child();
	}
	for (enter(); spares > 0; given += 65536)
		dry_free(heap, spare[--spares]);
	return given;
}

static bool give_limit(void *arg, size_t bytes)
{
	bool any = spares > 0;

	CHECK(arg == &spares && bytes != 0);
	for (enter(); spares > 0;)
		dry_free(NULL, spare[--spares]);
	return any;
}

/* A heap at its limit, in which some blocks can be done without. */
static void open_heap(void)
{
	heap = dry_heap_create(&(struct dry_heap_attr){ .limit = (size_t)4 << 20 });
	keeper = dry_cache_create(heap, &(struct dry_cache_attr){ .name = "keeper", .size = 64, .reclaim = give, .arg = &spares });
	cache = dry_cache_create(heap, &(struct dry_cache_attr){ .name = "cache", .size = 4096 });
	CHECK(heap && keeper && cache);
	for (spares = 0; spares < 40; spares++)
		CHECK(spare[spares] = dry_alloc(heap, 65536));
	inside = go = calls = 0;
}

static void *take(void *arg)
{
	size_t n = (size_t)arg;

	while (n > 0 && dry_cache_alloc(cache))
		n--;
	return (void *)n;
}

static void *take_big(void *arg)
{
	size_t n = (size_t)arg;

	while (n > 0 && dry_alloc(NULL, 1 << 20))
		n--;
	return (void *)n;
}

static pthread_t start(void *(*fn)(void *), size_t n)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, fn, (void *)n), 0);
	return thread;
}

static size_t left(pthread_t thread)
{
	void *result;

	CHECK_EQ(pthread_join(thread, &result), 0);
	return (size_t)result;
}

/* What the first one is given does for both. */
static void test_two(void *(*fn)(void *), size_t n)
{
	pthread_t first = start(fn, n), second;

	while (!inside)
		usleep(1000);
	second = start(fn, 5);
	usleep(10000);
	go = 1;
	CHECK_EQ(left(second), 0);
	CHECK_EQ(left(first), 0);
}

static dry_cache *make(const char *name)
{
	return dry_cache_create(heap, &(struct dry_cache_attr){ .name = name, .size = 40, .flags = DRY_CACHE_NO_MERGE });
}

static size_t metadata(void)
{
	struct dry_heap_stats stats;

	CHECK_EQ(dry_heap_stats(heap, &stats), 0);
	return stats.metadata;
}

/* Destroyed caches leave nothing. */
static void make_and_destroy(void)
{
	size_t before = 0;

	for (int i = 0; i < 2000; i++) {
		dry_cache *made = make("short");
		CHECK(made);
		CHECK_EQ(dry_cache_destroy(made), 0);
		if (i == 100)
			before = metadata();
	}
	CHECK(metadata() <= before);
}

static void in_child(void (*fn)(void))
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		is_child = 1;
		calls = 0;
		fn();
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

static void take_again(void)
{
	while (take((void *)1) == NULL)
		;
	CHECK(calls > 0);
	CHECK_EQ(spares, 0);
}

static void take_big_again(void)
{
	while (take_big((void *)1) == NULL)
		;
	CHECK(calls > 0);
	CHECK_EQ(spares, 0);
}

/* In the middle of a callback of its own thread: that one goes on, and it is still not called within itself. */
static void go_on(void)
{
	while (take((void *)1) == NULL)
		;
	CHECK_EQ(calls, 0);
}

static void child(void)
{
	in_child(go_on);
}

static int look(dry_cache *at, void *arg)
{
	(void)at, (void)arg;
	enter();
	return 1;
}

static void *walk(void *arg)
{
	CHECK_EQ(dry_heap_for_each_cache(heap, look, arg), 1);
	return NULL;
}

static void test_fork(void *(*fn)(void *), void (*check)(void))
{
	pthread_t thread = start(fn, 1000);

	while (!inside)
		usleep(1000);
	in_child(check);
	go = 1;
	left(thread);
}

/* The callback's argument is not freed under it. */
static atomic_int destroyed;

static size_t give_late(void *arg, size_t bytes)
{
	(void)bytes;
	inside = 1;
	usleep(100000);
	CHECK(!destroyed);
	atomic_fetch_add((atomic_int *)arg, 1);
	return 0;
}

static void test_destroy(void)
{
	atomic_int argument = 0;

	open_heap();
	CHECK_EQ(dry_cache_destroy(keeper), 0);
	keeper = dry_cache_create(heap, &(struct dry_cache_attr){ .name = "late", .size = 64, .reclaim = give_late,
								  .arg = &argument });
	CHECK(keeper);
	void *object = dry_cache_alloc(keeper);
	CHECK(object);
	CHECK_EQ(dry_cache_destroy(keeper), -EBUSY); /* and its callback is asked as before */
	dry_cache_free(keeper, object);
	pthread_t thread = start(take, 10000);
	while (!inside)
		usleep(1000);
	CHECK_EQ(dry_cache_destroy(keeper), 0);
	destroyed = 1;
	CHECK(argument > 0);
	left(thread);
	CHECK_EQ(dry_heap_destroy(heap), 0);
}

int main(void)
{
	open_heap();
	test_two(take, 400);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	open_heap();
	test_fork(take, take_again);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	open_heap();
	test_fork(walk, make_and_destroy);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	open_heap();
	forks = go = 1;
	take((void *)1000);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	test_destroy();
	for (spares = 0; spares < 30; spares++)
		CHECK(spare[spares] = dry_alloc(NULL, 1 << 20));
	CHECK_EQ(dry_ctl("limit", "40M"), 0);
	dry_on_limit(give_limit, &spares);
	inside = go = calls = 0;
	test_fork(take_big, take_big_again);
	dry_heap_trim(NULL);
	dry_on_limit(NULL, NULL);
	CHECK_EQ(dry_ctl("limit", "0"), 0);
	for (spares = 0; spares < 30; spares++)
		CHECK(spare[spares] = dry_alloc(NULL, 1 << 20));
	CHECK_EQ(dry_ctl("limit", "80M"), 0);
	dry_on_limit(give_limit, &spares);
	inside = go = calls = 0;
	test_two(take_big, 30);
	return 0;
}
