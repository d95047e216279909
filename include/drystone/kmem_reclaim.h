/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * kmem_reclaim.h - what stands behind an allocation of kmem.h that finds no memory: shrinkers, and the last word.
 *
 * A shrinker gives back what a program could do without. All of them run when an allocation that may wait finds no
 * memory; then it is tried again. The names are the kernel's, both the older (register_shrinker, with or without a name) and
 * the newer (shrinker_alloc, shrinker_register, shrinker_free). Any thread may register at any time, also
 * after a fork, but no shrinker from inside of one.
 */
#ifndef DRYSTONE_KMEM_RECLAIM_H
#define DRYSTONE_KMEM_RECLAIM_H

#include <drystone/drystone.h>
#include <drystone/kmem_gfp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__unix__)
#include <pthread.h>
#include <sched.h>
#include <time.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* One of it in a program, however many of its files include this. */
#define KMEM_SHARED __attribute__((weak))

static inline void kmem_relax(void)
{
#if defined(__unix__)
	sched_yield();
#endif
}

/*
 * What a lock has that is held: 1, and in a process that was forked another number than in its parent. One of another number is
 * held by a thread that is not in this process, and can be taken: what locks guard is whole after every single write.
 */
KMEM_SHARED int kmem_process = 1;

static inline bool kmem_try_lock(int *lock)
{
	int own = __atomic_load_n(&kmem_process, __ATOMIC_RELAXED), held = 0; /* changes while there is one thread */

	/* acquire pairs with the release in kmem_unlock() */
	return __atomic_compare_exchange_n(lock, &held, own, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED) ||
	       (held != own && __atomic_compare_exchange_n(lock, &held, own, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
}

static inline void kmem_lock(int *lock)
{
	while (!kmem_try_lock(lock))
		kmem_relax();
}

static inline void kmem_unlock(int *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE); /* pairs with the acquire in kmem_try_lock() */
}

struct shrink_control {
	gfp_t gfp_mask;
	int nid; /* 0 */
	unsigned long nr_to_scan, nr_scanned;
};

#define SHRINK_STOP   (~0UL)     /* of scan_objects: no more now */
#define SHRINK_EMPTY  (~0UL - 1) /* of count_objects: nothing at all */
#define DEFAULT_SEEKS 2

struct shrinker {
	unsigned long (*count_objects)(struct shrinker *shrinker, struct shrink_control *control);
	unsigned long (*scan_objects)(struct shrinker *shrinker, struct shrink_control *control); /* how many it freed */
	long batch; /* how many to ask for at once; 0: 128 */
	int seeks;  /* without meaning here, as the flags */
	unsigned int flags;
	void *private_data;
	struct shrinker *kmem_next; /* guarded by the lock of kmem_shrinkers */
};

struct kmem_shrinkers {
	struct shrinker *first; /* written under the lock */
	int lock;               /* guards the list; held while shrinkers run */
	int watched;            /* 1: kmem_forked() is called */
	uintptr_t runner;       /* the thread that runs them; 0: none does. Written by it, with the lock */
};
KMEM_SHARED struct kmem_shrinkers kmem_shrinkers = { NULL, 0, 0, 0 };

static inline uintptr_t kmem_thread(void)
{
#if defined(__unix__)
	return (uintptr_t)pthread_self(); /* the same in the child of a fork */
#else
	return 1;
#endif
}

/* In the child of a fork. Where that was made inside of a shrinker, they go on to run here; else their runner is the parent's. */
static inline void kmem_forked(void)
{
	__atomic_fetch_add(&kmem_process, 1, __ATOMIC_RELAXED); /* there is no other thread */
	if (kmem_shrinkers.runner == kmem_thread())
		kmem_shrinkers.lock = kmem_process;
	else
		kmem_shrinkers.runner = 0;
}

/* Before the first use of a lock. Of two threads both may come to it: then each fork counts twice. */
static inline void kmem_watch_forks(void)
{
#if defined(__unix__)
	if (!__atomic_load_n(&kmem_shrinkers.watched, __ATOMIC_ACQUIRE)) { /* pairs with the release below */
		pthread_atfork(NULL, NULL, kmem_forked);
		__atomic_store_n(&kmem_shrinkers.watched, 1, __ATOMIC_RELEASE); /* pairs with the acquire above */
	}
#endif
}

/* 0. A name and its arguments may follow. */
static inline int register_shrinker(struct shrinker *shrinker, ...)
{
	kmem_watch_forks();
	kmem_lock(&kmem_shrinkers.lock);
	shrinker->kmem_next = kmem_shrinkers.first;
	__atomic_store_n(&kmem_shrinkers.first, shrinker, __ATOMIC_RELEASE); /* a fork between finds all of the list */
	kmem_unlock(&kmem_shrinkers.lock);
	return 0;
}

/* One that is not registered is ignored. */
static inline void unregister_shrinker(struct shrinker *shrinker)
{
	struct shrinker **at;

	kmem_lock(&kmem_shrinkers.lock);
	for (at = &kmem_shrinkers.first; *at != NULL; at = &(*at)->kmem_next)
		if (*at == shrinker) {
			*at = shrinker->kmem_next;
			break;
		}
	kmem_unlock(&kmem_shrinkers.lock);
}

/* A name and its arguments follow. NULL: no memory. */
static inline struct shrinker *shrinker_alloc(unsigned int flags, const char *name, ...)
{
	struct shrinker *shrinker = (struct shrinker *)dry_zalloc(NULL, sizeof(*shrinker));

	(void)name;
	if (shrinker != NULL) {
		shrinker->flags = flags;
		shrinker->seeks = DEFAULT_SEEKS;
	}
	return shrinker;
}

static inline void shrinker_register(struct shrinker *shrinker)
{
	register_shrinker(shrinker);
}

static inline void shrinker_free(struct shrinker *shrinker)
{
	if (shrinker != NULL)
		unregister_shrinker(shrinker);
	dry_free(NULL, shrinker);
}

/* How many objects one of them freed. */
static inline unsigned long kmem_shrink(struct shrinker *shrinker, gfp_t flags)
{
	struct shrink_control control = { flags, 0, 0, 0 };
	unsigned long left = shrinker->count_objects(shrinker, &control), freed = 0, got;
	unsigned long batch = shrinker->batch > 0 ? (unsigned long)shrinker->batch : 128, asked;

	if (left == SHRINK_EMPTY)
		return 0;
	while (left > 0) {
		control.nr_to_scan = control.nr_scanned = asked = left < batch ? left : batch; /* it may count both down */
		got = shrinker->scan_objects(shrinker, &control);
		if (got == SHRINK_STOP)
			break;
		freed += got;
		left -= asked;
	}
	return freed;
}

/* Of any clock; of one thread, which has nobody to wait for, each look is one. */
static inline long kmem_seconds(void)
{
#if defined(__unix__)
	return (long)time(NULL);
#else
	static long looks;
	return ++looks;
#endif
}

/*
 * Shrinkers run in another thread, or one is being registered there: whether that has ended, so that there may be memory. Not
 * waited for without end, for they may wait for what the caller holds; nor if they are the caller's: theirs is the allocation.
 */
static inline bool kmem_wait_for_shrinkers(void)
{
	long last = kmem_seconds(), now;
	int seconds = 0; /* that began: the clock may be set meanwhile */

	while (__atomic_load_n(&kmem_shrinkers.runner, __ATOMIC_RELAXED) != kmem_thread() && seconds < 4) {
		now = kmem_seconds();
		seconds += now != last;
		last = now;
		if (kmem_try_lock(&kmem_shrinkers.lock)) {
			kmem_unlock(&kmem_shrinkers.lock);
			return true;
		}
		kmem_relax();
	}
	return false;
}

/* All of them, once, here or in another thread: what they freed, at least 1 there. 0 as well if the caller is one. */
static inline unsigned long kmem_run_shrinkers(gfp_t flags)
{
	struct shrinker *shrinker;
	unsigned long freed = 0;

	/* the list is only looked at for being empty: then nobody may watch forks */
	if (__atomic_load_n(&kmem_shrinkers.first, __ATOMIC_RELAXED) == NULL)
		return 0;
	if (!kmem_try_lock(&kmem_shrinkers.lock))
		return kmem_wait_for_shrinkers();
	__atomic_store_n(&kmem_shrinkers.runner, kmem_thread(), __ATOMIC_RELAXED); /* read by this thread alone, after a fork */
	for (shrinker = kmem_shrinkers.first; shrinker != NULL; shrinker = shrinker->kmem_next)
		freed += kmem_shrink(shrinker, flags);
	__atomic_store_n(&kmem_shrinkers.runner, 0, __ATOMIC_RELAXED); /* as above */
	kmem_unlock(&kmem_shrinkers.lock);
	return freed;
}

/* The name that programs have for it where they bring the allocator along: always: also without need. */
static inline void run_shrinkers(gfp_t flags, bool always)
{
	if (always && gfpflags_allow_blocking(flags))
		kmem_run_shrinkers(flags);
}

/* End the process with one line; for the flags that promise it. */
static inline void *kmem_give_up(const char *what, const char *name)
{
	fprintf(stderr, "drystone: %s: %s\n", what, name);
	abort();
}

/* An allocation found no memory for the round-th time: whether to try again. */
static inline bool kmem_again(gfp_t flags, int round, const char *name)
{
	if (round < 4 && gfpflags_allow_blocking(flags) && kmem_run_shrinkers(flags) > 0) {
		dry_heap_trim(NULL); /* what they freed may lie in other caches */
		return true;
	}
	if (flags & (gfp_t)__GFP_NOFAIL)
		kmem_give_up("out of memory", name);
	return false;
}

#ifdef __cplusplus
}
#endif
#endif
