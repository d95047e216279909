/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A fork takes all locks of a heap, and must not wait for one that its holder lets go only after another that the fork has: who
 * holds an array of one node may wait for the slabs of any. So as long as it has not got all arrays, it has none of the slabs.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include "check.h"
#include "core/depot.h"
#include "heap/heap.h"

#define NODES 3

static void *fork_once(void *unused)
{
	int status;
	pid_t pid = fork();

	(void)unused;
	CHECK(pid >= 0);
	if (pid == 0)
		_exit(0);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
	return NULL;
}

static bool is_free(struct dry_lock *lock)
{
	bool got = dry_lock_try(lock);

	if (got)
		dry_lock_release(lock);
	return got;
}

static void moment(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
}

/* No allocation while the other thread has the locks. */
static void waits_without_slabs(dry_heap *heap, dry_cache *cache, struct dry_lock *held)
{
	pthread_t thread;

	dry_lock_acquire_unranked(held); /* pthread_create() may take any lock of the library */
	CHECK(pthread_create(&thread, NULL, fork_once, NULL) == 0);
	while (is_free(&heap->caches.lock))
		moment();
	moment();
	for (unsigned n = 0; n < NODES; n++)
		CHECK(is_free(&cache->node[n].lock));
	dry_lock_release(held);
	CHECK(pthread_join(thread, NULL) == 0);
}

/* Who has the caches of one heap may be in a destructor that frees into another one, which is older or newer. */
static void waits_without_others(dry_heap *heap, dry_cache *cache)
{
	pthread_t thread;

	dry_lock_acquire_unranked(&heap->caches.reap_lock);
	CHECK(pthread_create(&thread, NULL, fork_once, NULL) == 0);
	while (is_free(&dry_heaps_lock))
		moment();
	moment();
	for (unsigned n = 0; n < NODES; n++)
		CHECK(is_free(&cache->node[n].lock) && is_free(&cache->node[n].shared.lock));
	dry_lock_release(&heap->caches.reap_lock);
	CHECK(pthread_join(thread, NULL) == 0);
}

int main(void)
{
	dry_heap *older = dry_heap_create(NULL);
	dry_heap *heap = dry_heap_create(&(struct dry_heap_attr){ .nodes = NODES });
	dry_cache *cache = dry_cache_create(heap, &(struct dry_cache_attr){ .name = "order", .size = 100 });

	CHECK(cache != NULL);
	for (unsigned n = 0; n < NODES; n++) {
		struct dry_depot *alien = dry_depot_alien(cache, n, (n + 1) % NODES);
		CHECK(alien != NULL);
		waits_without_slabs(heap, cache, &alien->lock);
		waits_without_slabs(heap, cache, &cache->node[n].shared.lock);
	}
	dry_heap *newer = dry_heap_create(NULL);
	CHECK(older && newer);
	waits_without_others(older, cache);
	waits_without_others(newer, cache);
	CHECK_EQ(dry_heap_destroy(newer), 0);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	CHECK_EQ(dry_heap_destroy(older), 0);
	return 0;
}
