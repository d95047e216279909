/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Type-stable caches with liburcu as the provider. Readers follow pointers to objects that
 * updaters free without waiting; within a read-side critical section an object may be
 * reused, but only as the same type: its tag never changes. Links with -lurcu.
 */
/* DRY_TEST_NOT_TINY: no grace periods. */
#include <pthread.h>
#include <stdlib.h>
#include <urcu.h>

#include "../support/exercise.h"

#define TAG      0x1f2e3d4c5b6a7988u
#define SHARED   256
#define READERS  3
#define UPDATERS 2

struct typed {
	uint64_t tag; /* constructor only */
	uint64_t pair[2]; /* updater writes both; a reader may see them change, never a foreign type */
};

_Static_assert(sizeof(struct rcu_head) <= sizeof(((struct dry_grace_head *)0)->opaque), "a head fits");

static struct typed *shared[SHARED];
static volatile int stop;
static dry_heap *heap;
static dry_cache *cache, *other;
static unsigned long reads;

static void grace_done(struct rcu_head *rcu)
{
	struct dry_grace_head *head = (struct dry_grace_head *)(void *)rcu; /* opaque comes first */

	head->func(head);
}

static void grace_call(void *arg, struct dry_grace_head *head, void (*func)(struct dry_grace_head *head))
{
	(void)arg;
	head->func = func;
	call_rcu((struct rcu_head *)(void *)head->opaque, grace_done);
}

static void grace_barrier(void *arg)
{
	(void)arg;
	rcu_barrier();
}

static void construct(void *object, void *arg)
{
	(void)arg;
	((struct typed *)object)->tag = TAG;
}

static void *reader(void *arg)
{
	struct rng rng = { (uintptr_t)arg };
	unsigned long n = 0;

	rcu_register_thread();
	for (; !stop; n++) {
		rcu_read_lock();
		struct typed *typed = rcu_dereference(shared[rng_below(&rng, SHARED)]);

		for (int look = 0; typed && look < 20; look++)
			CHECK_EQ(CMM_LOAD_SHARED(typed->tag), TAG);
		rcu_read_unlock();
	}
	rcu_unregister_thread();
	__atomic_fetch_add(&reads, n, __ATOMIC_RELAXED);
	return NULL;
}

static void replace(struct rng *rng)
{
	struct typed *fresh = NULL, *old;

	if (rng_below(rng, 8)) {
		fresh = dry_cache_alloc(cache);
		CHECK(fresh && fresh->tag == TAG);
		fresh->pair[0] = fresh->pair[1] = rng_next(rng);
	}
	old = rcu_xchg_pointer(&shared[rng_below(rng, SHARED)], fresh);
	dry_cache_free(cache, old); /* at once: the type stays, that is the point */
}

static void *updater(void *arg)
{
	struct rng rng = { (uintptr_t)arg };
	void *foreign[200];

	rcu_register_thread();
	while (!stop) {
		size_t n = rng_below(&rng, 200) + 1;

		for (int i = 0; i < 500; i++)
			replace(&rng);
		CHECK_EQ(dry_cache_alloc_bulk(other, n, foreign), n);
		for (size_t i = 0; i < n; i++)
			memset(foreign[i], 0xee, 64);
		dry_cache_free_bulk(other, n, foreign);
		dry_cache_shrink(rng_below(&rng, 2) ? cache : other);
		if (rng_below(&rng, 4) == 0)
			dry_heap_trim(heap);
	}
	rcu_unregister_thread();
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t seed = test_seed(argc, argv);
	const struct dry_grace grace = { grace_call, grace_barrier, NULL };
	const struct dry_heap_attr attr = { .name = "urcu", .grace = &grace };
	struct dry_cache_attr typed = { .name = "typed",
					.size = sizeof(struct typed),
					.flags = DRY_CACHE_TYPESAFE_BY_RCU,
					.ctor = construct };
	pthread_t threads[READERS + UPDATERS];

	rcu_register_thread();
	heap = dry_heap_create(&attr);
	CHECK(heap);
	cache = dry_cache_create(heap, &typed);
	other = make_cache(heap, "foreign", 64, 0, DRY_CACHE_NO_MERGE);
	CHECK(cache && other);
	for (uintptr_t i = 0; i < READERS + UPDATERS; i++)
		CHECK(!pthread_create(&threads[i], NULL, i < READERS ? reader : updater,
				      (void *)(uintptr_t)(seed * 31 + i)));
	usleep((useconds_t)test_scaled(3000000));
	stop = 1;
	for (int i = 0; i < READERS + UPDATERS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(reads > 0);
	for (int i = 0; i < SHARED; i++)
		dry_cache_free(cache, shared[i]);
	CHECK_EQ(stats_of(cache).active_objects, 0);
	dry_cache_shrink(cache);
	rcu_barrier();
	CHECK_EQ(stats_of(cache).slabs, 0);
	CHECK_EQ(dry_heap_check(heap), 0);
	CHECK_EQ(dry_cache_destroy(cache), 0);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	rcu_unregister_thread();
	return 0;
}
