/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What differs between versions of Linux, as 6.1 has it. */
#ifndef DRY_KERNEL_VERSION_H
#define DRY_KERNEL_VERSION_H

#include <linux/kasan.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/stackdepot.h>
#include <linux/swap.h>

#include "mm/slab.h"

#define DRY_SLAB_WORDS    3
#define DRY_ACTIVE_MAX    8191u /* slab_fields.h */
#define DRY_MAX_ORDER     (MAX_ORDER - 1)
#define dry_entry(name)   name /* of a call that others make */
#define dry_kmalloc_caches() create_kmalloc_caches(0)

/* At boot: stacks are to be kept. */
#define dry_want_stacks() stack_depot_want_early_init()

/* ---- pages ---- */

static inline void dry_account_slab(struct slab *slab, int order, struct kmem_cache *s)
{
	account_slab(slab, order, s, GFP_NOWAIT | __GFP_NOWARN); /* without its vector now it gets one with an object */
}

static inline void dry_unaccount_slab(struct slab *slab, int order, struct kmem_cache *s)
{
	unaccount_slab(slab, order, s);
}

/* Of a page that was a slab: what others read in it is as they expect it. */
static inline void dry_reset_page(struct slab *slab)
{
	page_mapcount_reset(slab_page(slab));
}

static inline void dry_account_reclaimed(int order)
{
	if (current->reclaim_state)
		current->reclaim_state->reclaimed_slab += 1 << order;
}

/* ---- what the kernel wants done with an object ---- */

struct dry_hooks {
	struct obj_cgroup *objcg;
};

/* false: the allocation is to fail. */
static __always_inline bool dry_before_alloc(struct dry_hooks *hooks, struct kmem_cache *s, struct list_lru *lru, size_t size,
					     gfp_t flags)
{
	hooks->objcg = NULL;
	return memcg_slab_pre_alloc_hook(s, lru, &hooks->objcg, size, flags);
}

/* false: they go back. What is NULL gives back its charge. */
static __always_inline bool dry_after_alloc(struct dry_hooks *hooks, struct kmem_cache *s, struct list_lru *lru, gfp_t flags,
					    size_t size, void **p, bool zero)
{
	slab_post_alloc_hook(s, hooks->objcg, flags, size, p, zero);
	return true;
}

/* Both are one here. */
static __always_inline bool dry_kasan_refuses(struct kmem_cache *s, void *object)
{
	return false;
}

/* true: KASAN keeps it for now, or has told that it must not be freed. */
static __always_inline bool dry_kasan_keeps(struct kmem_cache *s, void *object, bool wiped)
{
	return kasan_slab_free(s, object, wiped);
}

/* Whose charge it is the slab knows: what is freed may be another cache's object, or lie in no slab any more. */
static __always_inline void dry_before_free(struct kmem_cache *s, void *object)
{
	if (memcg_kmem_enabled()) {
		struct slab *slab = virt_to_slab(object);

		if (likely(slab != NULL))
			memcg_slab_free_hook(slab->slab_cache, slab, &object, 1);
	}
}

static inline void dry_free_large(struct folio *folio, void *object)
{
	free_large_kmalloc(folio, object);
}

#endif
