/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What extents and spare extents are kept in. */
#ifndef DRY_PAGE_EXTENT_TYPES_H
#define DRY_PAGE_EXTENT_TYPES_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <drystone/page_source.h>

#include "page/budget.h"
#include "port/contract.h"

/* Most extents that wait for reuse; of a heap that is given an array for it (dry_extents_room()), which the default one is. */
#define DRY_EXTENT_CACHED      128
#define DRY_EXTENT_CACHED_MOST 1024

#define DRY_EXTENT_BITS 48

struct dry_extent {
	uintptr_t addr;                  /* 0: slot unused */
	uint64_t size : DRY_EXTENT_BITS; /* bytes, a multiple of the page size */
	uint64_t node : 4;               /* memory node that it was placed on */
	uint64_t seen : 12;              /* by dry_dense_collapse(), as big as it is: 1, and so many huge pages from its start */
};

/* An extent that waits for reuse. */
struct dry_extent_spare {
	uintptr_t addr;
	size_t size;
	uint64_t age; /* tick at which most of it was freed */
	unsigned node;
};

/* What is to be looked at, the extent that it is part of, looks at it; extents in a row that were filled; hints since then. */
struct dry_extent_probe {
	uint64_t again; /* ms: no look before that, but the first */
	uintptr_t extent, addr; /* addr 0: nothing */
	size_t size;
	unsigned looks, filled, hinted, waited;
};

/*
 * Equations: live = used buckets of the table <= promised <= 3/4 of buckets;
 * live_bytes, cached_bytes = sums of the sizes; spare[] is in order of address, none overlaps the next
 * or, where spare extents are joined, is one with it.
 */
struct dry_extents {
	struct dry_lock lock;
	/* guarded by lock */
	struct dry_extent *table; /* open addressing without deleted marks; power of two */
	size_t buckets;
	size_t live;     /* extents in the table */
	size_t promised; /* buckets that are used or will be by an alloc or resize under way */
	size_t live_bytes, cached_bytes;
	uint64_t tick;
	uint64_t purged;  /* bytes given back to the system, since the start */
	size_t releasing; /* bytes on their way there, by any thread */
	unsigned cached; /* entries of spare[] */
	unsigned room;   /* that there may be; immutable after init, as `spare` */
	struct dry_extent_spare *spare;
	struct dry_extent_spare own[DRY_EXTENT_CACHED];
	struct dry_extent_probe usual, giant; /* by size: a few giants do not tell of the others, nor others of them */
	/* relaxed, anybody: bytes taken without memory behind them since somebody last set it to 0 */
	_Atomic size_t fresh;
	struct dry_budget_share share; /* without locks: of extents that are mapped or released, too */
	/* immutable after init */
	size_t cap;
	unsigned nodes;
	struct dry_page_source source; /* reserve NULL: the port */
};

#endif
