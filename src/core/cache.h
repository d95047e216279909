/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What other parts of the library, but not its users, do with caches. */
#ifndef DRY_CORE_CACHE_H
#define DRY_CORE_CACHE_H

#include "core/heap.h"

/*
 * Internal flag: slots end in eight bytes that no object has, and dry_debug_secure watches over
 * them. Needs management by bitmap; where a cache cannot have that, the flag is without effect.
 */
#define DRY_CACHE_SECURE 0x8000u

/*
 * What caches of the default heap made from now on are like; written while the library is loaded. plain: without array
 * caches. secure: also DRY_CACHE_SECURE and never merged, but for types that cannot.
 */
extern bool dry_caches_plain, dry_caches_secure;

/* Asked by every slow allocation, with NULL for one that is too big for a cache; false: it fails. NULL: none does. */
extern bool (*dry_alloc_gate)(const struct dry_cache *cache);

/* Set up a cache in given memory and put it on the heap's list. 0, -EINVAL, -ENOMEM. */
int dry_cache_init(struct dry_cache *cache, struct dry_heap *heap, const struct dry_cache_attr *attr, bool split);

/* As dry_cache_create() with a checked attr; split: two arrays a slot, and never merged. */
struct dry_cache *dry_cache_create_split(struct dry_heap *heap, const struct dry_cache_attr *attr, bool split);

/* OFF_SLAB: the cache that index arrays of `size` bytes come from; made if need be. */
struct dry_cache *dry_freelist_cache(struct dry_heap *heap, size_t size);

/*
 * What dry_cache_shrink() does, on a root. false: a thread stayed inside of a sequence (thread slots only), so
 * that the array caches could not be emptied.
 */
bool dry_cache_empty(struct dry_cache *cache, size_t *freed);

/* Give the shared and alien arrays' memory back; they are empty. */
void dry_cache_release_depots(struct dry_cache *cache);

#endif
