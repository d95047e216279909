/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What differs between versions of Linux, as 6.12 has it. */
#ifndef DRY_KERNEL_VERSION_H
#define DRY_KERNEL_VERSION_H

#include <linux/fault-inject.h>
#include <linux/kasan.h>
#include <linux/kmemleak.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/stackdepot.h>
#include <linux/swap.h>

#include "mm/slab.h"

#define DRY_SLAB_WORDS    2 /* a page's type lies where a third one was */
#define DRY_ACTIVE_MAX    65535u /* slab_fields.h */
#define DRY_MAX_ORDER     MAX_PAGE_ORDER
#define dry_entry(name)   name##_noprof /* of a call that others make */
#define dry_kmalloc_caches() create_kmalloc_caches()

/* At boot: stacks are to be kept. */
#define dry_want_stacks() stack_depot_request_early_init()

/* entries.c */
void dry_free_large(struct folio *folio, void *object);
void dry_free_slab_exts(struct slab *slab);

/* ---- pages ---- */

static inline void dry_account_slab(struct slab *slab, int order, struct kmem_cache *s)
{
	mod_node_page_state(slab_pgdat(slab), cache_vmstat_idx(s), (long)PAGE_SIZE << order);
}

static inline void dry_unaccount_slab(struct slab *slab, int order, struct kmem_cache *s)
{
	dry_free_slab_exts(slab);
	mod_node_page_state(slab_pgdat(slab), cache_vmstat_idx(s), -((long)PAGE_SIZE << order));
}

/* Of a page that was a slab: nothing but what its type was lies where others read. */
static inline void dry_reset_page(struct slab *slab)
{
}

static inline void dry_account_reclaimed(int order)
{
	mm_account_reclaimed_pages(1 << order);
}

/* ---- what the kernel wants done with an object ---- */

struct dry_hooks {
};

/* false: the allocation is to fail. */
static __always_inline bool dry_before_alloc(struct dry_hooks *hooks, struct kmem_cache *s, struct list_lru *lru, size_t size,
					     gfp_t flags)
{
	return true; /* it is charged for once it is there */
}

static inline bool dry_charge(struct kmem_cache *s, struct list_lru *lru, gfp_t flags, size_t size, void **p)
{
#ifdef CONFIG_MEMCG
	if (memcg_kmem_online() && (s->flags & SLAB_ACCOUNT || flags & __GFP_ACCOUNT))
		return __memcg_slab_post_alloc_hook(s, lru, flags, size, p);
#endif
	return true;
}

/* false: they go back. An object may be NULL. */
static __always_inline bool dry_after_alloc(struct dry_hooks *hooks, struct kmem_cache *s, struct list_lru *lru, gfp_t flags,
					    size_t size, void **p, bool zero)
{
	for (size_t i = 0; i < size; i++) {
		if (unlikely(p[i] == NULL))
			continue;
		p[i] = kasan_slab_alloc(s, p[i], flags, zero);
		if (unlikely(zero))
			memset(p[i], 0, s->object_size);
		kmemleak_alloc_recursive(p[i], s->object_size, 1, s->flags, flags);
	}
	return dry_charge(s, lru, flags, size, p);
}

/* true: KASAN has told that it must not be freed. */
static __always_inline bool dry_kasan_refuses(struct kmem_cache *s, void *object)
{
	return kasan_slab_pre_free(s, object);
}

/* true: KASAN keeps it for now. */
static __always_inline bool dry_kasan_keeps(struct kmem_cache *s, void *object, bool wiped)
{
	return kasan_slab_free(s, object, wiped, s->flags & SLAB_TYPESAFE_BY_RCU);
}

/* Whose charge it is the slab knows: what is freed may be another cache's object, or lie in no slab any more. */
static __always_inline void dry_before_free(struct kmem_cache *s, void *object)
{
#ifdef CONFIG_MEMCG
	if (memcg_kmem_online()) {
		struct slab *slab = virt_to_slab(object);
		struct slabobj_ext *exts = slab != NULL ? slab_obj_exts(slab) : NULL;

		if (exts != NULL)
			__memcg_slab_free_hook(slab->slab_cache, slab, &object, 1, exts);
	}
#endif
}

static inline struct kmem_cache *cache_from_obj(struct kmem_cache *s, void *object)
{
	return s;
}

#endif
