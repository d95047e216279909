/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The backing of a process (core/backing.h): pages from an arena, metadata from memory of its own. The descriptor of a
 * slab lies in that of its first page.
 */
#ifndef DRY_PAGE_BACKING_IMPL_H
#define DRY_PAGE_BACKING_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/fatal.h"
#include "page/meta.h"
#include "page/page.h"
#include "port/contract.h"
#include "port/probe.h"

#define DRY_SLAB_WORDS 4
#define DRY_SLAB_NIL   DRY_PAGE_NIL

typedef uint32_t dry_slab_ref; /* index of its first page */
typedef unsigned dry_gfp;      /* a process may always wait */
enum { DRY_GFP_DEFAULT = 0 };

struct dry_cache;

struct dry_backing {
	struct dry_arena arena; /* first: a hit reads its first fields */
	struct dry_meta meta;
	const struct dry_slab_pages *pages; /* written before the first slab. NULL: slabs lie side by side */
	unsigned nodes; /* 1 to 8 */
};

/* backing.c: the caller's memory node, of so many. */
unsigned dry_backing_home(unsigned nodes);

struct dry_slab {
	dry_slab_ref next, prev;
	struct dry_cache *cache;
	uint16_t active, first;
	uint8_t list;
	union {
		uint64_t bits[DRY_SLAB_WORDS];
		void *freelist;
		uint64_t grace[4];
	};
};
_Static_assert(sizeof(struct dry_slab) <= sizeof(((struct dry_page *)0)->owner), "it lies in a page's descriptor");

static inline struct dry_page *dry_page_of_slab(const struct dry_slab *slab)
{
	return DRY_CONTAINER(slab, struct dry_page, owner);
}

static inline struct dry_slab *dry_slab_of_page(struct dry_page *page)
{
	return (struct dry_slab *)(void *)page->owner;
}

/* The slab in a run of pages; NULL: there is none. */
static inline struct dry_slab *dry_slab_in(struct dry_page *run)
{
	return run != NULL && dry_page_kind(run) == DRY_PAGE_SLAB ? dry_slab_of_page(run) : NULL;
}

/* ---- pages ---- */

static inline struct dry_slab *dry_backing_alloc(struct dry_backing *backing, unsigned order, unsigned single, unsigned node,
						 dry_gfp gfp, size_t slabs)
{
	struct dry_page *run;

	(void)single, (void)gfp;
	run = backing->pages != NULL ? backing->pages->alloc(&backing->arena, order, node) :
				       dry_arena_alloc_slab(&backing->arena, order, node, slabs);
	return run != NULL ? dry_slab_of_page(run) : NULL;
}

static inline bool dry_backing_is_single(const struct dry_slab *slab, unsigned order)
{
	(void)slab, (void)order;
	return false;
}

static inline void dry_backing_publish(struct dry_backing *backing, struct dry_slab *slab, uint32_t place)
{
	dry_page_set_kind(dry_page_of_slab(slab), DRY_PAGE_SLAB);
	dry_arena_set_map(&backing->arena, dry_page_of_slab(slab), (uint16_t)place);
	DRY_PROBE_3(drystone, slab_made, (uintptr_t)dry_arena_start(&backing->arena, dry_page_of_slab(slab)),
		    (uint64_t)dry_page_count(dry_page_of_slab(slab)) << backing->arena.page_shift, (uintptr_t)slab->cache);
}

static inline void dry_backing_free(struct dry_backing *backing, struct dry_slab *slab)
{
	DRY_PROBE_3(drystone, slab_returned, (uintptr_t)dry_arena_start(&backing->arena, dry_page_of_slab(slab)),
		    (uint64_t)dry_page_count(dry_page_of_slab(slab)) << backing->arena.page_shift, (uintptr_t)slab->cache);
	if (backing->pages != NULL)
		backing->pages->free(&backing->arena, dry_page_of_slab(slab));
	else
		dry_arena_free(&backing->arena, dry_page_of_slab(slab));
}

static inline void *dry_backing_address(const struct dry_backing *backing, const struct dry_slab *slab)
{
	return dry_arena_start(&backing->arena, dry_page_of_slab(slab));
}

static inline unsigned dry_backing_node_of(const struct dry_slab *slab)
{
	return dry_page_of_slab(slab)->node;
}

static inline dry_slab_ref dry_backing_ref(const struct dry_backing *backing, const struct dry_slab *slab)
{
	return dry_arena_index_of(&backing->arena, dry_page_of_slab(slab));
}

static inline struct dry_slab *dry_backing_deref(const struct dry_backing *backing, dry_slab_ref ref)
{
	return dry_slab_of_page(&backing->arena.desc[ref]);
}

/* ---- objects ---- */

static inline struct dry_slab *dry_backing_slab_of(const struct dry_backing *backing, const void *object, unsigned order)
{
	const struct dry_arena *arena = &backing->arena;

	return dry_slab_of_page(&arena->desc[dry_arena_block_start(arena, dry_arena_index(arena, object), order)]);
}

/* Blocks of 2^order pages are aligned by address. A copy of what does not change spares loads: slabs are written in between. */
#define DRY_LOCATOR
struct dry_locator {
	uintptr_t within, base; /* within: a mask */
	struct dry_page *desc;
	unsigned page_shift;
};

static inline struct dry_locator dry_backing_locator(const struct dry_backing *backing, unsigned order)
{
	const struct dry_arena *arena = &backing->arena;
	uintptr_t within = ((uintptr_t)1 << (order + arena->page_shift)) - 1;

	return (struct dry_locator){ within, arena->base, arena->desc, arena->page_shift };
}

static inline struct dry_slab *dry_backing_locate(const struct dry_locator *locator, const void *object, size_t *offset)
{
	uintptr_t at = (uintptr_t)object;

	*offset = at & locator->within;
	return dry_slab_of_page(&locator->desc[(at - *offset - locator->base) >> locator->page_shift]);
}

static inline struct dry_cache *dry_backing_cache_of(const struct dry_slab *slab)
{
	return slab->cache;
}

static inline void dry_backing_set_cache(struct dry_slab *slab, struct dry_cache *cache)
{
	slab->cache = cache;
}

static inline bool dry_backing_is_slab(const struct dry_slab *slab)
{
	return dry_page_kind(dry_page_of_slab(slab)) == DRY_PAGE_SLAB;
}

static inline struct dry_slab *dry_backing_find(const struct dry_backing *backing, const void *ptr)
{
	return dry_slab_in(dry_arena_run_of(&backing->arena, ptr));
}

static inline bool dry_backing_contains(const struct dry_backing *backing, const void *ptr)
{
	return dry_arena_contains(&backing->arena, ptr);
}

static inline bool dry_backing_is_of(const struct dry_backing *backing, const void *ptr, uint32_t place)
{
	size_t granule = ((uintptr_t)ptr - backing->arena.base) >> DRY_GRANULE_SHIFT;

	return DRY_LIKELY(granule < dry_arena_granules(&backing->arena)) && DRY_LIKELY(backing->arena.map[granule] == place);
}

/* ---- the rest ---- */

static inline void *dry_backing_meta_alloc(struct dry_backing *backing, size_t bytes)
{
	return dry_meta_alloc(&backing->meta, bytes);
}

#define DRY_META_RAW
static inline void *dry_backing_meta_raw(struct dry_backing *backing, size_t bytes)
{
	return dry_meta_alloc_as(&backing->meta, bytes, false);
}

static inline void dry_backing_meta_free(struct dry_backing *backing, void *at, size_t bytes)
{
	dry_meta_free(&backing->meta, at, bytes);
}

#define DRY_AREA_FIRST DRY_META_AREA

static inline void *dry_backing_area_alloc(struct dry_backing *backing, size_t bytes, size_t most)
{
	return dry_meta_area_alloc(&backing->meta, bytes, most);
}

static inline bool dry_backing_area_extend(struct dry_backing *backing, void *area, size_t from, size_t to, size_t most)
{
	return dry_meta_area_extend(&backing->meta, area, from, to, most);
}

static inline void dry_backing_area_free(struct dry_backing *backing, void *area, size_t from, size_t to, size_t most)
{
	dry_meta_area_free(&backing->meta, area, from, to, most);
}

static inline unsigned dry_backing_page_shift(const struct dry_backing *backing)
{
	return backing->arena.page_shift;
}

static inline unsigned dry_backing_max_order(const struct dry_backing *backing)
{
	return backing->arena.max_order;
}

static inline size_t dry_backing_bytes(const struct dry_backing *backing)
{
	return (size_t)backing->arena.pages << backing->arena.page_shift;
}

/* A destructor that allocates runs under locks of its heap; other heaps may be locked by a thread that waits for this one. */
static inline bool dry_backing_may_wait(dry_gfp gfp)
{
	(void)gfp;
	return dry_lock_none_held();
}

static inline unsigned dry_backing_node(const struct dry_backing *backing)
{
	return dry_backing_home(backing->nodes);
}

static inline uintptr_t dry_backing_self(void)
{
	return dry_port_self();
}

static inline void dry_backing_pause(void)
{
	dry_port_sleep_ms(1);
}

#define dry_backing_corrupt dry_fatal
#define dry_backing_warn    dry_warn

#endif
