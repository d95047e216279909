/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Shrinkers that count their orders down, and two threads that are short of memory at once.
 * DRY_TEST_NOT_TINY: the limit of a process is needed.
 */
#include <drystone/kmem.h>
#include <drystone/process.h>
#include <pthread.h>
#include <unistd.h>

#include "../support/check.h"

#define TOO_MUCH ((size_t)1 << 46)

static unsigned long left_as; /* what it leaves in nr_to_scan */
static int calls;

static unsigned long count(struct shrinker *shrinker, struct shrink_control *control)
{
	(void)shrinker;
	(void)control;
	return 1000;
}

static unsigned long scan_down(struct shrinker *shrinker, struct shrink_control *control)
{
	(void)shrinker;
	CHECK(control->nr_to_scan <= 128 && ++calls < 100);
	control->nr_to_scan = left_as;
	return 0;
}

static void test_counted_down(void)
{
	struct shrinker own = { .count_objects = count, .scan_objects = scan_down };

	CHECK_EQ(register_shrinker(&own), 0);
	for (left_as = 0; left_as != 1; left_as = left_as == 0 ? ~0UL : 1) {
		calls = 0;
		CHECK(kmalloc(TOO_MUCH, GFP_KERNEL) == NULL);
		CHECK_EQ(calls, 8);
	}
	unregister_shrinker(&own);
}

static void *spare;
static int inside;

static unsigned long count_slow(struct shrinker *shrinker, struct shrink_control *control)
{
	(void)shrinker;
	(void)control;
	return __atomic_load_n(&spare, __ATOMIC_ACQUIRE) != NULL ? 1 : SHRINK_EMPTY;
}

/* It takes its time, and brings all. */
static unsigned long scan_slow(struct shrinker *shrinker, struct shrink_control *control)
{
	(void)shrinker;
	(void)control;
	__atomic_store_n(&inside, 1, __ATOMIC_RELEASE);
	usleep(300000);
	kfree(__atomic_exchange_n(&spare, NULL, __ATOMIC_ACQ_REL));
	return 1;
}

static void *ask(void *unused)
{
	void *block = kmalloc(1 << 20, GFP_KERNEL);

	(void)unused;
	CHECK(block != NULL);
	return block;
}

static void test_two(void)
{
	struct shrinker slow = { .count_objects = count_slow, .scan_objects = scan_slow };
	pthread_t thread;
	void *block;

	CHECK_EQ(register_shrinker(&slow), 0);
	spare = kmalloc(32 << 20, GFP_KERNEL);
	CHECK(spare && dry_ctl("limit", "48M") == 0);
	while ((block = kmalloc(1 << 20, GFP_NOWAIT)) != NULL)
		*(char *)block = 1;
	CHECK(pthread_create(&thread, NULL, ask, NULL) == 0);
	while (!__atomic_load_n(&inside, __ATOMIC_ACQUIRE))
		usleep(1000);
	CHECK(kmalloc(1 << 20, GFP_KERNEL | __GFP_NOFAIL) != NULL); /* else the process ends */
	CHECK(pthread_join(thread, &block) == 0 && block != NULL);
	CHECK_EQ(dry_ctl("limit", "0"), 0);
	unregister_shrinker(&slow);
}

int main(void)
{
	test_counted_down();
	test_two();
	return 0;
}
