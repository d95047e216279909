/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Core's pages in Linux (src/core/backing.h): alloc_pages(), and struct slab as the descriptor. A slab is named by twice its first
 * page's number.
 */
#ifndef DRY_KERNEL_BACKING_IMPL_H
#define DRY_KERNEL_BACKING_IMPL_H

#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "base/fatal.h"
#include "version.h"

#define dry_slab     slab
#define DRY_SLAB_NIL 0u

typedef u32 dry_slab_ref;
typedef gfp_t dry_gfp;
#define DRY_GFP_DEFAULT GFP_KERNEL

/* Of one node and of what is at hand, in silence: nobody waits, is ended, woken to free some or uses up a reserve. */
#define DRY_GFP_HERE(gfp)                                                                                         \
	(((gfp) & ~(__GFP_RECLAIM | __GFP_HIGH | __GFP_NOFAIL | __GFP_RETRY_MAYFAIL)) | __GFP_THISNODE | __GFP_NOMEMALLOC | \
	 __GFP_NOWARN)
#define DRY_GFP_STAYS(gfp) (((gfp) & __GFP_THISNODE) != 0)

/*
 * Of 64 objects, a page at least and eight at most; four where no single page will do (dry_backing_alloc()): more are hard to get
 * once memory is in pieces.
 */
#define DRY_SLAB_PREFERRED(size) \
	clamp_t(size_t, roundup_pow_of_two(size) * 64, PAGE_SIZE, PAGE_SIZE * ((size) > PAGE_SIZE ? 4 : 8))

/* Of more pages than these the kernel gives up to make some free, and a fork, say, fails. */
#define DRY_SLAB_MOST (PAGE_SIZE << PAGE_ALLOC_COSTLY_ORDER)

/* slab_fields.h */
#define DRY_FIRST_MAX 32767u

/* Depots stay what they are: a kernel's objects are many kinds of a few each, and what one kind keeps no other can have. */
#define DRY_DEPOTS_GROWN ((size_t)0)
#define DRY_LOCALS 0

/* Without state: there is one world of pages. */
struct dry_backing {
	unsigned int nodes;
};

/* backing.c */
struct dry_slab *dry_backing_alloc(struct dry_backing *backing, unsigned order, unsigned single, unsigned node, dry_gfp gfp,
				   size_t slabs);
void dry_backing_publish(struct dry_backing *backing, struct dry_slab *slab, uint32_t place);
void dry_backing_free(struct dry_backing *backing, struct dry_slab *slab);
struct dry_cache *dry_backing_cache_of(const struct dry_slab *slab);
void dry_backing_set_cache(struct dry_slab *slab, struct dry_cache *cache);
bool dry_backing_is_of(const struct dry_backing *backing, const void *ptr, uint32_t place);
/* meta.c */
void *dry_backing_meta_alloc(struct dry_backing *backing, size_t bytes);
void dry_backing_meta_free(struct dry_backing *backing, void *at, size_t bytes);

/* Areas do not grow: each is there as a whole. */
#define DRY_AREA_FIRST SIZE_MAX

static inline void *dry_backing_area_alloc(struct dry_backing *backing, size_t bytes, size_t most)
{
	return dry_backing_meta_alloc(backing, most);
}

static inline bool dry_backing_area_extend(struct dry_backing *backing, void *area, size_t from, size_t to, size_t most)
{
	return true;
}

static inline void dry_backing_area_free(struct dry_backing *backing, void *area, size_t from, size_t to, size_t most)
{
	if (from == 0)
		dry_backing_meta_free(backing, area, most);
}

static inline void *dry_backing_address(const struct dry_backing *backing, const struct dry_slab *slab)
{
	return slab_address(slab);
}

static inline unsigned dry_backing_node_of(const struct dry_slab *slab)
{
	return slab_nid(slab);
}

static inline dry_slab_ref dry_backing_ref(const struct dry_backing *backing, const struct dry_slab *slab)
{
	return (u32)(page_to_pfn(slab_page(slab)) + 1) << 1; /* a machine may have a page 0, and 0 is no slab */
}

static inline struct dry_slab *dry_backing_deref(const struct dry_backing *backing, dry_slab_ref ref)
{
	return page_slab(pfn_to_page((ref >> 1) - 1UL));
}

static inline struct dry_slab *dry_backing_slab_of(const struct dry_backing *backing, const void *object, unsigned order)
{
	return page_slab(virt_to_head_page(object));
}

static inline bool dry_backing_is_single(const struct dry_slab *slab, unsigned order)
{
	return order != 0 && !folio_test_large((struct folio *)slab_folio(slab));
}

static inline bool dry_backing_is_slab(const struct dry_slab *slab)
{
	return folio_test_slab((struct folio *)slab_folio(slab));
}

static inline bool dry_backing_contains(const struct dry_backing *backing, const void *ptr)
{
	return virt_addr_valid(ptr);
}

static inline struct dry_slab *dry_backing_find(const struct dry_backing *backing, const void *ptr)
{
	return virt_addr_valid(ptr) ? virt_to_slab(ptr) : NULL;
}

static inline unsigned dry_backing_page_shift(const struct dry_backing *backing)
{
	return PAGE_SHIFT;
}

static inline unsigned dry_backing_max_order(const struct dry_backing *backing)
{
	return DRY_MAX_ORDER;
}

static inline size_t dry_backing_bytes(const struct dry_backing *backing)
{
	return SIZE_MAX / 2;
}

/* The kernel has reclaimed what it could before it says that there is no page. */
static inline bool dry_backing_may_wait(dry_gfp gfp)
{
	return false;
}

/* Of a node without memory the nearest that has some: where numa_mem_id() is no more than the processor's node, too. */
static inline int dry_backing_near(int nid)
{
	struct zoneref *first;

	if (nr_node_ids == 1)
		return nid;
	first = first_zones_zonelist(node_zonelist(nid, GFP_KERNEL), gfp_zone(GFP_KERNEL), NULL);
	return zonelist_zone(first) != NULL ? zonelist_node_idx(first) : nid;
}

static inline unsigned dry_backing_node(const struct dry_backing *backing)
{
	return dry_backing_near(numa_mem_id());
}

#define dry_backing_corrupt dry_fatal
#define dry_backing_warn    dry_warn

/* No cache has a callback, so nobody waits for one. */
static inline uintptr_t dry_backing_self(void)
{
	return (uintptr_t)current;
}

static inline void dry_backing_pause(void)
{
	cond_resched();
}

#endif
