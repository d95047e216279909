/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The plainest backing (core/backing.h): an array of pages, a descriptor each; a block of 2^order is the first free one that
 * is aligned to its size, looked for on the node asked for, then on the others. Nodes share the pages out evenly.
 *
 * All that is handed out is counted, poisoned before and after, and may be refused (plain.h). What the contract says of
 * the callers is verified.
 */
#ifndef DRY_TESTS_PLAIN_BACKING_IMPL_H
#define DRY_TESTS_PLAIN_BACKING_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/fatal.h"

#define DRY_SLAB_WORDS 4
#define DRY_SLAB_NIL   UINT32_MAX

typedef uint32_t dry_slab_ref;
typedef unsigned dry_gfp;
enum { DRY_GFP_DEFAULT = 0, PLAIN_GFP_NEVER = 1 /* there is no memory for who asks so */ };

struct dry_cache;

enum plain_state { PLAIN_FREE, PLAIN_TAKEN, PLAIN_SLAB };

struct dry_slab {
	dry_slab_ref next, prev;
	struct dry_cache *cache;
	uint16_t active, first;
	uint8_t list;
	/* the backing's own; of every page of a block */
	uint8_t state; /* enum plain_state */
	uint8_t order, node;
	bool single;    /* one page where several were wanted */
	uint32_t head;  /* number of the block's first page */
	uint32_t place; /* of a slab */
	union {
		uint64_t bits[DRY_SLAB_WORDS];
		void *freelist;
		uint64_t grace[4];
	};
};

struct dry_backing {
	char *base;            /* aligned to the largest block */
	struct dry_slab *page; /* [pages] */
	uint32_t pages;
	unsigned shift, max_order, nodes;
	unsigned home;                     /* the node that the caller is on; the test's to change */
	size_t blocks_out, pages_out;      /* not given back yet */
	size_t meta_out, meta_bytes;       /* likewise */
	size_t calls, fail_at, refused;    /* call number fail_at (from 1; 0: none) gets nothing, */
	bool fail_all;                     /* and nor do those after it */
	void (*on_meta)(void);             /* called once, by who asks for metadata, before it gets some */
	bool (*in_pieces)(void);           /* asked when several pages are wanted: none lie side by side. NULL: they do */
};

/* backing.c */
struct dry_slab *dry_backing_alloc(struct dry_backing *backing, unsigned order, unsigned single, unsigned node, dry_gfp gfp,
				   size_t slabs);
void dry_backing_publish(struct dry_backing *backing, struct dry_slab *slab, uint32_t place);
void dry_backing_free(struct dry_backing *backing, struct dry_slab *slab);
void *dry_backing_meta_alloc(struct dry_backing *backing, size_t bytes);
#define DRY_META_RAW
void *dry_backing_meta_raw(struct dry_backing *backing, size_t bytes);
void dry_backing_meta_free(struct dry_backing *backing, void *at, size_t bytes);
#define DRY_AREA_FIRST ((size_t)64 << 10)
void *dry_backing_area_alloc(struct dry_backing *backing, size_t bytes, size_t most);
bool dry_backing_area_extend(struct dry_backing *backing, void *area, size_t from, size_t to, size_t most);
void dry_backing_area_free(struct dry_backing *backing, void *area, size_t from, size_t to, size_t most);

/* world.c */
void dry_backing_corrupt(enum dry_fatal_code code, const void *address, const char *cache, const char *detail);
void dry_backing_warn(const char *fmt, ...) DRY_PRINTF(1, 2);

static inline uint32_t plain_page_of(const struct dry_backing *backing, const void *ptr)
{
	return (uint32_t)(((uintptr_t)ptr - (uintptr_t)backing->base) >> backing->shift);
}

static inline void *dry_backing_address(const struct dry_backing *backing, const struct dry_slab *slab)
{
	return backing->base + ((size_t)(slab - backing->page) << backing->shift);
}

static inline unsigned dry_backing_node_of(const struct dry_slab *slab)
{
	return slab->node;
}

static inline dry_slab_ref dry_backing_ref(const struct dry_backing *backing, const struct dry_slab *slab)
{
	return (dry_slab_ref)(slab - backing->page);
}

static inline struct dry_slab *dry_backing_deref(const struct dry_backing *backing, dry_slab_ref ref)
{
	return &backing->page[ref];
}

static inline struct dry_slab *dry_backing_slab_of(const struct dry_backing *backing, const void *object, unsigned order)
{
	struct dry_slab *page = &backing->page[plain_page_of(backing, object)];

	return page->state == PLAIN_FREE || page->single ? page : &backing->page[(page - backing->page) >> order << order];
}

static inline bool dry_backing_is_single(const struct dry_slab *slab, unsigned order)
{
	(void)order;
	return slab->single;
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
	return slab->state == PLAIN_SLAB;
}

static inline bool dry_backing_contains(const struct dry_backing *backing, const void *ptr)
{
	return (uintptr_t)ptr - (uintptr_t)backing->base < (uintptr_t)backing->pages << backing->shift;
}

static inline struct dry_slab *dry_backing_find(const struct dry_backing *backing, const void *ptr)
{
	const struct dry_slab *page = &backing->page[dry_backing_contains(backing, ptr) ? plain_page_of(backing, ptr) : 0];

	return dry_backing_contains(backing, ptr) && page->state == PLAIN_SLAB ? &backing->page[page->head] : NULL;
}

static inline bool dry_backing_is_of(const struct dry_backing *backing, const void *ptr, uint32_t place)
{
	const struct dry_slab *slab = dry_backing_find(backing, ptr);

	return slab != NULL && slab->place == place;
}

static inline unsigned dry_backing_page_shift(const struct dry_backing *backing)
{
	return backing->shift;
}

static inline unsigned dry_backing_max_order(const struct dry_backing *backing)
{
	return backing->max_order;
}

static inline size_t dry_backing_bytes(const struct dry_backing *backing)
{
	return (size_t)backing->pages << backing->shift;
}

static inline bool dry_backing_may_wait(dry_gfp gfp)
{
	(void)gfp;
	return true;
}

static inline unsigned dry_backing_node(const struct dry_backing *backing)
{
	return backing->home;
}

static inline uintptr_t dry_backing_self(void)
{
	return 1;
}

static inline void dry_backing_pause(void)
{
}

#endif
