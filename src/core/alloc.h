/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Objects in and out where there is no hit: the slow twins of fast.h, and many at once. */
#ifndef DRY_CORE_ALLOC_H
#define DRY_CORE_ALLOC_H

#include "core/cache.h"

enum { DRY_NODE_ANY = -1 };

/* node: the memory node that the object shall lie on. NULL: no memory. */
DRY_SLOW void *dry_alloc_slow(struct dry_cache *cache, dry_gfp gfp, int node);
/* Accepts any pointer and says what is wrong with it. */
DRY_SLOW void dry_free_slow(struct dry_cache *cache, void *object);
/* n objects or none. */
size_t dry_alloc_bulk(struct dry_cache *cache, dry_gfp gfp, size_t n, void **objects);
void dry_free_bulk(struct dry_cache *cache, size_t n, void *const *objects);

#endif
