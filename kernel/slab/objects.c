// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Objects in and out, with all that the kernel wants done at either moment. */
#include <linux/debugobjects.h>
#include <linux/fault-inject.h>
#include <linux/kasan.h>
#include <linux/kfence.h>
#include <linux/kmemleak.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <trace/events/kmem.h>

#include "mm/internal.h"

#include "core/alloc.h"
#include "slab/caches.h"

/* ---- out ---- */

/* Without either of these should_failslab() is never true: it is there to be made so. */
#define MAY_BE_FAILED (IS_ENABLED(CONFIG_FAILSLAB) || IS_ENABLED(CONFIG_FUNCTION_ERROR_INJECTION))

/* false: the allocation is to fail. */
static __always_inline bool alloc_begin(struct dry_hooks *hooks, struct kmem_cache *s, struct list_lru *lru, size_t size,
					gfp_t flags)
{
	might_alloc(flags);
	if (MAY_BE_FAILED && unlikely(should_failslab(s, flags)))
		return false;
	return dry_before_alloc(hooks, s, lru, size, flags);
}

/*
 * Of the caller's wishes those that say how memory is got. What kind of memory it is the cache knows; to be movable, zeroed or
 * accounted for is nothing for a slab's pages.
 */
static gfp_t gfp_of_slab(const struct kmem_cache *s, gfp_t flags)
{
	return (flags & (GFP_RECLAIM_MASK | GFP_CONSTRAINT_MASK)) | s->page_gfp;
}

/* Once there was no memory. */
static noinline void *never_fail(struct kmem_cache *s, gfp_t flags, int node)
{
	void *object;

	do {
		memalloc_retry_wait(flags);
		object = dry_alloc_slow(s->dry, gfp_of_slab(s, flags), node);
	} while (object == NULL);
	return object;
}

static noinline void *alloc_slow(struct kmem_cache *s, gfp_t flags, int node)
{
	void *object;

	if (unlikely(flags & GFP_SLAB_BUG_MASK))
		flags = kmalloc_fix_flags(flags);
	if (dry_kernel_caches->nodes == 1)
		node = NUMA_NO_NODE;
	else if (node != NUMA_NO_NODE && !(flags & __GFP_THISNODE))
		node = dry_backing_near(node);
	object = dry_alloc_slow(s->dry, gfp_of_slab(s, flags), node);
	return unlikely(object == NULL) && flags & __GFP_NOFAIL ? never_fail(s, flags, node) : object;
}

static void put_back(struct kmem_cache *s, size_t size, void **p);

static __always_inline void *alloc_end(struct dry_hooks hooks, struct kmem_cache *s, struct list_lru *lru, gfp_t flags,
				       void *object, bool zero)
{
	if (likely(dry_after_alloc(&hooks, s, lru, flags, 1, &object, zero)))
		return object;
	put_back(s, 1, &object);
	return NULL;
}

/* Apart, and to the end, so that a hit has nothing to save. */
static noinline void *alloc_missed(struct dry_hooks hooks, struct kmem_cache *s, struct list_lru *lru, gfp_t flags, int node)
{
	return alloc_end(hooks, s, lru, flags, alloc_slow(s, flags, node), slab_want_init_on_alloc(flags, s));
}

/* `size` was asked for. KFENCE may sample: its objects lie in pages of their own, end there, and are zeroed by it. */
static __always_inline void *object_alloc(struct kmem_cache *s, struct list_lru *lru, gfp_t flags, int node, size_t size)
{
	struct dry_hooks hooks;
	void *object;

	flags &= gfp_allowed_mask;
	if (unlikely(!alloc_begin(&hooks, s, lru, 1, flags)))
		return NULL;
	object = kfence_alloc(s, size, flags);
	if (unlikely(object != NULL))
		return alloc_end(hooks, s, lru, flags, object, false);
	/* An array may hold objects of any node. */
	if (likely(node == NUMA_NO_NODE || dry_kernel_caches->nodes == 1))
		object = dry_percpu_pop(DRY_SLOTS(dry_kernel_caches), s->place);
	if (unlikely(object == NULL))
		return alloc_missed(hooks, s, lru, flags, node);
	return alloc_end(hooks, s, lru, flags, object, slab_want_init_on_alloc(flags, s));
}

void *dry_entry(kmem_cache_alloc)(struct kmem_cache *s, gfp_t flags)
{
	void *object = object_alloc(s, NULL, flags, NUMA_NO_NODE, s->object_size);

	trace_kmem_cache_alloc(_RET_IP_, object, s, flags, NUMA_NO_NODE);
	return object;
}
EXPORT_SYMBOL(dry_entry(kmem_cache_alloc));

void *dry_entry(kmem_cache_alloc_lru)(struct kmem_cache *s, struct list_lru *lru, gfp_t flags)
{
	void *object = object_alloc(s, lru, flags, NUMA_NO_NODE, s->object_size);

	trace_kmem_cache_alloc(_RET_IP_, object, s, flags, NUMA_NO_NODE);
	return object;
}
EXPORT_SYMBOL(dry_entry(kmem_cache_alloc_lru));

void *dry_entry(kmem_cache_alloc_node)(struct kmem_cache *s, gfp_t flags, int node)
{
	void *object = object_alloc(s, NULL, flags, node, s->object_size);

	trace_kmem_cache_alloc(_RET_IP_, object, s, flags, node);
	return object;
}
EXPORT_SYMBOL(dry_entry(kmem_cache_alloc_node));

/* For kmalloc(), which has its own tracepoints. */
void *__kmem_cache_alloc_node(struct kmem_cache *s, gfp_t flags, int node, size_t size, unsigned long caller)
{
	return object_alloc(s, NULL, flags, node, size);
}

/* Of a bulk the first one at most. */
static __always_inline size_t sample(struct kmem_cache *s, gfp_t flags, size_t size, void **p)
{
	void *object = size != 0 ? kfence_alloc(s, s->object_size, flags) : NULL;

	if (likely(object == NULL))
		return 0;
	p[0] = object;
	return 1;
}

int dry_entry(kmem_cache_alloc_bulk)(struct kmem_cache *s, gfp_t flags, size_t size, void **p)
{
	struct dry_hooks hooks;
	size_t got, sampled;

	flags &= gfp_allowed_mask;
	if (unlikely(!alloc_begin(&hooks, s, NULL, size, flags)))
		return 0;
	sampled = sample(s, flags, size, p);
	got = dry_alloc_bulk(s->dry, gfp_of_slab(s, flags), size - sampled, p + sampled) + sampled;
	if (unlikely(got != size)) {
		if (got != 0)
			__kfence_free(p[0]);
		memset(p, 0, size * sizeof(*p)); /* which the hook knows how to take */
		got = 0;
	}
	if (unlikely(!dry_after_alloc(&hooks, s, NULL, flags, size, p, sampled == 0 && slab_want_init_on_alloc(flags, s)))) {
		put_back(s, got, p);
		return 0;
	}
	if (unlikely(sampled != 0) && slab_want_init_on_alloc(flags, s))
		for (size_t i = sampled; i < got; i++)
			memset(p[i], 0, s->object_size);
	return got;
}
EXPORT_SYMBOL(dry_entry(kmem_cache_alloc_bulk));

/* ---- in ---- */

/* true: it does not go to its slab. KASAN keeps it, until it calls ___cache_free() or for good, or it was a sample. */
static __always_inline bool object_leaves(struct kmem_cache *s, void *object, bool wiped)
{
	if (dry_kasan_refuses(s, object))
		return true;
	dry_before_free(s, object);
	kmemleak_free_recursive(object, s->flags);
	debug_check_no_locks_freed(object, s->object_size);
	if (!(s->flags & SLAB_DEBUG_OBJECTS))
		debug_check_no_obj_freed(object, s->object_size);
	if (wiped && !is_kfence_address(object))
		memset(object, 0, s->object_size);
	return dry_kasan_keeps(s, object, wiped) || kfence_free(object);
}

static __always_inline void object_put(struct kmem_cache *s, void *object)
{
	if (unlikely(!dry_percpu_push(DRY_SLOTS(dry_kernel_caches), s->place, object)))
		dry_free_slow(s->dry, object);
}

/* Apart, so that others have nothing to save. */
static noinline void free_wiped(struct kmem_cache *s, void *object)
{
	if (!object_leaves(s, object, true))
		object_put(s, object);
}

static __always_inline void object_free(struct kmem_cache *s, void *object)
{
	if (unlikely(slab_want_init_on_free(s)))
		free_wiped(s, object);
	else if (!object_leaves(s, object, false))
		object_put(s, object);
}

void __kmem_cache_free(struct kmem_cache *s, void *object, unsigned long caller)
{
	object_free(s, object);
}

#ifdef CONFIG_KASAN_GENERIC
/* Out of KASAN's quarantine. */
void ___cache_free(struct kmem_cache *s, void *object, unsigned long caller)
{
	object_put(s, object);
}
#endif

void kmem_cache_free(struct kmem_cache *s, void *object)
{
	s = cache_from_obj(s, object);
	if (unlikely(s == NULL))
		return;
	trace_kmem_cache_free(_RET_IP_, object, s);
	object_free(s, object);
}
EXPORT_SYMBOL(kmem_cache_free);

/* Of one cache. The places of what does not go to its slab are given to others. */
static void put_back(struct kmem_cache *s, size_t size, void **p)
{
	size_t pushed;

	for (size_t i = 0; i < size;) {
		if (object_leaves(s, p[i], slab_want_init_on_free(s)))
			p[i] = p[--size];
		else
			i++;
	}
	pushed = dry_percpu_push_batch(DRY_SLOTS(dry_kernel_caches), s->place, p, size);
	dry_free_bulk(s->dry, size - pushed, p + pushed);
}

void kmem_cache_free_bulk(struct kmem_cache *s, size_t size, void **p)
{
	if (s != NULL) {
		put_back(s, size, p);
		return;
	}
	for (size_t i = 0; i < size; i++) {
		struct folio *folio = virt_to_folio(p[i]);

		if (likely(folio_test_slab(folio)))
			__kmem_cache_free(folio_slab(folio)->slab_cache, p[i], 0);
		else
			dry_free_large(folio, p[i]);
	}
}
EXPORT_SYMBOL(kmem_cache_free_bulk);

/* ---- what an object is ---- */

#ifdef CONFIG_PRINTK
void __kmem_obj_info(struct kmem_obj_info *kpp, void *object, struct slab *slab)
{
	kpp->kp_ptr = object;
	kpp->kp_slab = slab;
	kpp->kp_slab_cache = slab->slab_cache;
	kpp->kp_objp = nearest_obj(slab->slab_cache, slab, object);
}
#endif

#ifdef CONFIG_HARDENED_USERCOPY
/* Only what lies within the region of one object that its cache lets through. */
void __check_heap_object(const void *ptr, unsigned long n, const struct slab *slab, bool to_user)
{
	struct kmem_cache *s = slab->slab_cache;
	unsigned long offset = ptr - nearest_obj(s, slab, (void *)ptr);

	if (offset >= s->useroffset && offset - s->useroffset <= s->usersize && n <= s->useroffset + s->usersize - offset)
		return;
	usercopy_abort("SLAB object", s->name, to_user, offset, n);
}
#endif
