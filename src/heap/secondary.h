/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The secondary allocator of the default heap: somebody who takes some of its general allocations over, such as guarded blocks. It
 * is asked in slow paths only; who asks knows nothing of who is behind it.
 */
#ifndef DRY_HEAP_SECONDARY_H
#define DRY_HEAP_SECONDARY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/kind.h"

struct dry_cache;

struct dry_secondary {
	/* Asked for each allocation that goes by the slow path. NULL: it leaves it to the heap. */
	void *(*allocate)(size_t size, size_t align, bool zero);
	/* A block of its own where all else has failed. NULL: it has no memory either. */
	void *(*last)(size_t size, size_t align);
	/* Whether ptr lies where its blocks are. */
	bool (*contains)(const void *ptr);
	/*
	 * What a program gets that asks a cache for an object and goes by the slow path: an object of it, or a block in the
	 * stead of one, which keeps it until that block is freed. So the cache counts one object in use in both cases. NULL: no
	 * memory.
	 */
	void *(*object)(struct dry_cache *cache);
	/* The address in a program's pointer to an object or block. NULL: it is none any more, which was reported. */
	void *(*address)(void *pointer);
	/* Of such a one; of any cache and none (NULL), or of this cache. Reports what is no live block. */
	void (*free)(struct dry_cache *cache, void *block);
	/* Bytes asked for; DRY_REPORTED (core/debug_ops.h): no live block. freeing: for a free, of which the report then is. */
	size_t (*size)(void *block, bool freeing);
	/* Whether it has `size` bytes now, where it stands. false: it has to move. */
	bool (*resize)(void *block, size_t size);
	/* Its kind, which becomes `to`; UNKNOWN: it has none. Reports nothing. */
	enum dry_kind (*kind)(void *block, enum dry_kind to);
};

#endif
