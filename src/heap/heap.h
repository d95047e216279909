/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A heap: an arena for slabs and page runs, extents for big blocks, the caches over them, and who stands behind.
 *
 * Must not know: size classes (it only has room for their caches), libc's rules.
 */
#ifndef DRY_HEAP_HEAP_H
#define DRY_HEAP_HEAP_H

#include <drystone/drystone.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/depot.h"
#include "heap/secondary.h"
#include "page/extent.h"
#include "page/kept.h"

#define DRY_GENERAL_CACHES 72

/* Who gives a heap's idle memory back. Both are called by who may hold locks; gives() leaves errno as it is. */
struct dry_keeper {
	void (*takes)(void); /* before something is taken that arrays do not have, and after what is much by itself */
	void (*gives)(void); /* before objects are given that arrays have no room for, and after what is in no array */
};

struct dry_heap {
	struct dry_extents extents;
	_Atomic size_t guarded;                                /* bytes of blocks that `secondary` has; a statistic */
	_Atomic size_t failures;                               /* big blocks that there was no memory for; a statistic */
	struct dry_kept kept;
	const struct dry_secondary *_Atomic secondary;         /* NULL: none. relaxed: asked in slow paths */
	const struct dry_keeper *_Atomic keeper;               /* NULL: nobody, the program calls dry_heap_reap(). relaxed */
	struct dry_cache *_Atomic general[DRY_GENERAL_CACHES]; /* made at first use */
	struct dry_heap *_Atomic apart;                        /* has some of its blocks; NULL: none. See dry_heap_apart() */
	struct dry_heap *next, **link;                         /* list of heaps, and what points to this one there; and */
	struct dry_heap *alike;                                /* the next one of its bucket (heap.c): guarded by dry_heaps_lock */
	bool ready;                                            /* written once, after all else */
	bool is_default;
	bool of_cache;                                         /* goes with the one cache in it */
	char name[32];
	struct dry_caches caches; /* last: it ends in its slots */
};

#define DRY_SLOTS_MAX 4096

/* The default heap, with room for its slots. */
struct dry_main {
	struct dry_heap heap;
	char *slots[DRY_SLOTS_MAX + 1];
};

extern DRY_HIDDEN struct dry_main dry_main;
#define dry_main_heap dry_main.heap

/* All heaps; guarded by dry_heaps_lock. */
extern struct dry_heap *dry_heaps;
extern struct dry_lock dry_heaps_lock;
extern uint64_t dry_heaps_gone[DRY_COUNTERS]; /* of heaps that were destroyed; likewise */

static inline struct dry_heap *dry_heap_of(const struct dry_caches *caches)
{
	return DRY_CONTAINER(caches, struct dry_heap, caches);
}

static inline void dry_heap_takes(struct dry_heap *heap)
{
	const struct dry_keeper *keeper = atomic_load_explicit(&heap->keeper, memory_order_relaxed);

	if (keeper != NULL)
		keeper->takes();
}

static inline void dry_heap_gives(struct dry_heap *heap)
{
	const struct dry_keeper *keeper = atomic_load_explicit(&heap->keeper, memory_order_relaxed);

	if (keeper != NULL)
		keeper->gives();
}

static inline struct dry_arena *dry_heap_arena(struct dry_heap *heap)
{
	return &heap->caches.backing.arena;
}

static inline const struct dry_secondary *dry_heap_secondary(const struct dry_heap *heap)
{
	return atomic_load_explicit(&heap->secondary, memory_order_relaxed);
}

/* The heap that has some of this one's blocks (malloc/sample.h), counts with it and gives back with it; NULL: there is none. */
static inline struct dry_heap *dry_heap_apart(const struct dry_heap *heap)
{
	return atomic_load_explicit(&heap->apart, memory_order_acquire); /* pairs with who made it */
}

/* The cache whose object (of the default heap) a block of the secondary allocator stands for; NULL: none. */
static inline struct dry_cache *dry_heap_cache_instead(const void *object)
{
	return object != NULL ? dry_backing_find(&dry_main_heap.caches.backing, object)->cache : NULL;
}

/* heap.c */

/* A heap argument of the public interface: NULL means the default heap, made at first use; NULL if that fails. */
struct dry_heap *dry_heap_get(struct dry_heap *heap);
/* From now on these look at the caches of all heaps, made and to come. At start, before any debugged cache. */
void dry_heaps_debug(const struct dry_debug_hooks *hooks);

/* stats/snapshot.c: to the figures of a heap those of this one, without the one apart. */
void dry_heap_add_stats(struct dry_heap *heap, struct dry_heap_stats *stats);

/* reclaim.c */

/*
 * To be called now and then when memory was taken: purges what waits for reuse against what was taken fresh,
 * so that the process does not grow while it holds memory of no use to it.
 */
void dry_heap_balance(struct dry_heap *heap);
/* As dry_heap_reap(), but arrays stay as they are: no CPU is fenced. */
void dry_heap_reap_shared(struct dry_heap *heap);
/* As dry_heap_trim(), but what waits so that it is not used again soon (quarantines) stays. */
void dry_heap_trim_unused(struct dry_heap *heap);
/* Where limits count what is mapped: the arena gives up some `bytes` of what it does not use, for an extent. false: it has none. */
bool dry_heap_give_up(struct dry_heap *heap, size_t bytes);

/*
 * A heap has no room for an allocation of about `bytes`: gives back what is free in it, then (tries > 0) asks the callbacks of its
 * caches. Whether it is worth another try; tries: as below. false, too, where a lock is held: a destructor allocates.
 */
bool dry_heap_free_up(struct dry_heap *heap, size_t bytes, unsigned tries);

/*
 * The process's limit was in the way of an allocation of about `bytes`: gives back what is free in this heap and in others, then
 * asks who was named here. Whether it is worth another try; tries: how many there were after the first one. false where
 * a lock is held.
 */
bool dry_heap_make_room(struct dry_heap *heap, size_t bytes, unsigned tries);
void dry_heap_on_limit(bool (*fn)(void *arg, size_t bytes), void *arg);
/* Before a fork, and after it. */
void dry_heap_limit_fork(void);
void dry_heap_limit_forked(bool in_child);
/* Who is asked before all that whether the limit is higher by now. */
void dry_heap_follow_limit(bool (*follow)(void));

/* fork.c: take and release every lock of the library. */
void dry_heaps_lock_all(void);
void dry_heaps_unlock_all(bool in_child);
/* In a child, also where the locks were not taken. */
void dry_heaps_inherit(void);
/* Whether no lock of the heap is held: at the end of a process a thread may have been stopped with one. */
bool dry_heap_is_quiet(struct dry_heap *heap);

/* objects.c: from a cache whose array is empty. NULL and errno: no memory. */
DRY_SLOW void *dry_heap_alloc_slow(struct dry_cache *cache);
/* The same for who has something else to try, and calls the second one, for the statistics and errno, if that fails as well. */
DRY_SLOW void *dry_heap_try_slow(struct dry_cache *cache);
DRY_SLOW void dry_heap_failed(struct dry_cache *cache);

#endif
