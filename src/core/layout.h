/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* How a slab is laid out. */
#ifndef DRY_CORE_LAYOUT_H
#define DRY_CORE_LAYOUT_H

#include "core/cache.h"

/* What objects are aligned to, in bytes. */
size_t dry_cache_align(const struct dry_cache_attr *attr);
/* Fills in size, num, order, management type, colours. false: the cache cannot be. */
bool dry_cache_layout(struct dry_cache *cache, const struct dry_cache_attr *attr);

/* Of a slab of an order, for objects and the arrays beside them: all of it, or all but the page that is left for a fence. */
size_t dry_slab_bytes(const struct dry_cache *cache, unsigned order);

#endif
