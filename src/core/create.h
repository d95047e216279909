/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Sets of caches; making, merging and destroying caches; walks over them. */
#ifndef DRY_CORE_CREATE_H
#define DRY_CORE_CREATE_H

#include "core/cache.h"

/*
 * Set up a set of caches over its backing, which is ready. slots: how many there may be; slots[] has room for one more.
 * main_heap: its locks are of the ranks that a grace-period provider may take. false: no memory.
 */
bool dry_caches_init(struct dry_caches *caches, unsigned slots, unsigned nodes, size_t area_size, bool main_heap);
/* Give the areas back, and depots, which have grown where there are areas, before the backing goes; all else goes with it. */
void dry_caches_fini(struct dry_caches *caches);

/* Make a cache of checked attributes. *error: DRY_EINVAL, DRY_ENOMEM. */
struct dry_cache *dry_cache_make(struct dry_caches *caches, const struct dry_cache_attr *attr, int *error);

/* As dry_cache_destroy(). */
int dry_cache_unmake(struct dry_cache *cache);

#endif
