/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Heap profiles: a sample of the default heap's allocations, general ones and objects of its caches, on average one every `mean`
 * bytes (a Poisson process in bytes as served), is noted with its stack (stats/sites.h).
 *
 * A sampled block comes from a heap of its own, "profile", so that its free finds it by its address, which no hit takes for its
 * own. That heap stays when sampling ends, for the blocks in it.
 *
 *   blocks:              when it is their turn (malloc/turns.h)
 *   objects of a cache:  likewise; the block stands for an object, which it keeps
 */
#ifndef DRY_MALLOC_SAMPLE_H
#define DRY_MALLOC_SAMPLE_H

#include "heap/heap.h"

#define DRY_WHOLE_FRAMES 32 /* of a stack, where every allocation takes the time for one */

/*
 * From now on one sample every `mean` bytes (later on, still the first mean: dry_profile.mean), where somebody says whose turn it
 * is; 0: no more. false: no memory for it.
 */
bool dry_sample_set(size_t mean);

/*
 * From now on all of them are noted, for a search for lost ones: heaps have no arrays that allocations are served from. false: no
 * memory for it.
 */
bool dry_sample_all(void);

/* noted.c: hooks for all heaps then, instead of dry_hooks_slow; at start, once. */
const struct dry_debug_hooks *dry_noted_hooks(void);

/* As in heap/secondary.h. turn: it is this one's. */
void *dry_sample_allocate(size_t size, size_t align, bool zero, bool turn);
bool dry_sample_contains(const void *ptr);
/* A block in the stead of an object of a cache (heap/secondary.h), not constructed yet; NULL: none. */
void *dry_sample_instead(struct dry_cache *cache, void *object);
/* of: the cache that the program says it is of; NULL: none, or any. */
void dry_sample_free(void *block, const struct dry_cache *of);
size_t dry_sample_size(void *block);

/* All samples to a file, which pprof reads; %p in its name is the number of the process. false: it cannot be written. */
bool dry_sample_write(const char *path);

/* At the end, after dry_sample_all(): those that are lost (stats/leaks.h), likewise. */
bool dry_sample_write_lost(const char *path);

/* In the child of a fork, of whose other threads one may have been noting a block. */
void dry_sample_forked(void);

#endif
