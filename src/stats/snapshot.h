/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Figures of a cache, for who holds the heap's lock already. */
#ifndef DRY_STATS_SNAPSHOT_H
#define DRY_STATS_SNAPSHOT_H

#include "core/heap.h"

void dry_cache_stats_locked(struct dry_cache *cache, struct dry_cache_stats *stats);

#endif
