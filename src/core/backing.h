/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The seam under core: all that caches need of the memory below them.
 *
 * A backing is one header, backing_impl.h, found through the include path, as percpu.h and port_impl.h are: the
 * arena of a process (src/page/process), a plain array of blocks (tests/plain), a kernel's pages. It defines the types
 * and, inline, the calls that are listed here; backing_check.c refers to each with its exact type, so that a backing that
 * lacks one or differs does not compile.
 *
 *   struct dry_backing    where the pages of a set of caches come from; one instance for each set
 *   struct dry_slab       the descriptor of a slab. Core writes what it names, and nobody else does while there is a slab:
 *                           active, first    16 bits or more: objects out of the slab; offset of the first one, bytes
 *                           list             enum dry_list
 *                           next, prev       dry_slab_ref
 *                         and in a union  bits[DRY_SLAB_WORDS] (64 bits each), freelist (void *), grace (room for a
 *                         struct dry_grace_head)
 *   dry_slab_ref          names a slab in a list, DRY_SLAB_NIL none
 *   DRY_SLAB_WORDS        2 or more: a bitmap has 64 times as many objects; chains use two
 *   dry_gfp               how hard memory may be looked for; DRY_GFP_DEFAULT. Core hands it through
 *
 * Pages
 *   dry_backing_alloc     2^order pages aligned to their size, if possible on `node`; NULL: no memory. Not yet a slab.
 *                         single (order > 0): or one page, if so many side by side cannot be had, or while the cache has few; a
 *                         backing need not do that. So many objects it has, in percent of a page's share of them in a slab of
 *                         2^order; 0: it will not do
 *                         slabs: so many the cache has; a hint of how much of this one is going to be used
 *   dry_backing_is_single whether that was done: a slab of a cache whose slabs have 2^order pages has one page, and others more
 *   dry_backing_publish   objects can be had now: the pages are known as those of a slab whose frees go to `place`
 *   dry_backing_free      they go back, published or not
 *   dry_backing_address   of the first page
 *   dry_backing_node_of   the memory node that they lie on
 *   dry_backing_ref, dry_backing_deref   to and from a name
 *
 * Objects
 *   dry_backing_slab_of   the pages of 2^order that an object of a cache with that order lies in; no question whether
 *   struct dry_locator, dry_backing_locator   what it takes to find the slabs of many objects of a cache with that order
 *   dry_backing_locate    the slab of one of them, and how far from the slab's address it lies
 *   DRY_LOCATOR           if defined: the backing has these three; or else they ask dry_backing_slab_of and _address
 *   dry_backing_cache_of, dry_backing_set_cache   whose the slab is; core's to read and write, as what is in the descriptor
 *   dry_backing_is_slab   whether these are a slab now
 *   dry_backing_find      any pointer: the slab that it lies in, or NULL
 *   dry_backing_contains  any pointer: whether it lies where slabs may be
 *   dry_backing_is_of     any pointer: whether it lies in a published slab whose frees go to `place`; the hit's question
 *
 * The rest
 *   dry_backing_meta_alloc, _free   memory for metadata, away from objects, zeroed, aligned to a cache line; NULL: none
 *   dry_backing_meta_raw  the same, with whatever was there, if there is such a call (DRY_META_RAW)
 *   dry_backing_area_alloc, _extend, _free   the same for areas of slots, which grow in place as caches are made, from
 *                         DRY_AREA_FIRST bytes on. Free: what lies from `from` to `to`, the end; from 0: all
 *   dry_backing_page_shift, _max_order, _bytes   log2 of a page; of the pages of the largest slab; of all that there may be
 *   dry_backing_may_wait  whether who asks with this dry_gfp may wait for locks of ranks REAP and CACHES
 *   DRY_SLAB_PREFERRED    if defined: bytes of a slab with objects of a size
 *   DRY_SLAB_MOST         if defined: bytes that no slab goes beyond in order to waste fewer
 *   DRY_FIRST_MAX         if defined: the most that `first` can be
 *   DRY_DEPOTS_GROWN      if defined: bytes of objects that depots may grow to hold beyond what they begin with, together
 *   DRY_GFP_HERE          if defined: of a dry_gfp the wish for memory of the wanted node alone, and at hand: nobody waits. With
 *                         several nodes a new slab is asked for so first, then what is free on others, then one as was wanted
 *   DRY_GFP_STAYS         defined with that: whether it is to be the wanted node's memory or none
 *   dry_backing_node      the memory node that the caller runs on, a hint
 *   dry_backing_self      a number of the calling thread, not 0, which no other one has; the same in the child of a fork
 *   dry_backing_pause     let others run, about a millisecond. No lock is held
 *   dry_backing_corrupt, dry_backing_warn   a report (base/fatal.h)
 *
 * Concurrency: every call at any time by anybody, but that a slab is its owner's. No lock of core's is held in
 * dry_backing_alloc(); those of ranks REAP and CACHES may be in dry_backing_free(), that of a depot as well in
 * dry_backing_meta_alloc() and _free(), and there that of a node, too, if the cache has a quarantine.
 */
#ifndef DRY_CORE_BACKING_H
#define DRY_CORE_BACKING_H

#include "backing_impl.h"

#ifndef DRY_META_RAW
static inline void *dry_backing_meta_raw(struct dry_backing *backing, size_t bytes)
{
	return dry_backing_meta_alloc(backing, bytes);
}
#endif

#ifndef DRY_LOCATOR
struct dry_locator {
	const struct dry_backing *backing;
	unsigned order;
};

static inline struct dry_locator dry_backing_locator(const struct dry_backing *backing, unsigned order)
{
	return (struct dry_locator){ backing, order };
}

static inline struct dry_slab *dry_backing_locate(const struct dry_locator *locator, const void *object, size_t *offset)
{
	struct dry_slab *slab = dry_backing_slab_of(locator->backing, object, locator->order);

	*offset = (size_t)((const char *)object - (const char *)dry_backing_address(locator->backing, slab));
	return slab;
}
#endif

#endif
