// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Objects in and out, with all that the kernel wants done at either moment. */
#include <linux/debugobjects.h>
#include <linux/kmemleak.h>
#include <linux/module.h>
#include <trace/events/kmem.h>

#include "mm/internal.h"

#include "core/alloc.h"
#include "slab/caches.h"

/* ---- out ---- */

/* Zeroed and accounted for is the object, not its slab's pages. */
static gfp_t gfp_of_slab(const struct kmem_cache *s, gfp_t flags)
{
	return (flags & ~(__GFP_ZERO | __GFP_ACCOUNT)) | s->page_gfp;
}

static noinline void *alloc_slow(struct kmem_cache *s, gfp_t flags, int node)
{
	if (unlikely(flags & GFP_SLAB_BUG_MASK))
		flags = kmalloc_fix_flags(flags);
	if (dry_kernel_caches->nodes == 1)
		node = NUMA_NO_NODE;
	return dry_alloc_slow(s->dry, gfp_of_slab(s, flags), node);
}

static void put_back(struct kmem_cache *s, size_t size, void **p);

static __always_inline void *object_alloc(struct kmem_cache *s, struct list_lru *lru, gfp_t flags, int node)
{
	struct dry_hooks hooks;
	void *object = NULL;

	flags &= gfp_allowed_mask;
	if (unlikely(!dry_before_alloc(&hooks, s, lru, 1, flags)))
		return NULL;
	/* An array may hold objects of any node. */
	if (likely(node == NUMA_NO_NODE || dry_kernel_caches->nodes == 1))
		object = dry_percpu_pop(DRY_SLOTS(dry_kernel_caches), s->place);
	if (unlikely(object == NULL))
		object = alloc_slow(s, flags, node);
	if (unlikely(!dry_after_alloc(&hooks, s, lru, flags, 1, &object))) {
		put_back(s, 1, &object);
		return NULL;
	}
	return object;
}

void *dry_entry(kmem_cache_alloc)(struct kmem_cache *s, gfp_t flags)
{
	void *object = object_alloc(s, NULL, flags, NUMA_NO_NODE);

	trace_kmem_cache_alloc(_RET_IP_, object, s, flags, NUMA_NO_NODE);
	return object;
}
EXPORT_SYMBOL(dry_entry(kmem_cache_alloc));

void *dry_entry(kmem_cache_alloc_lru)(struct kmem_cache *s, struct list_lru *lru, gfp_t flags)
{
	void *object = object_alloc(s, lru, flags, NUMA_NO_NODE);

	trace_kmem_cache_alloc(_RET_IP_, object, s, flags, NUMA_NO_NODE);
	return object;
}
EXPORT_SYMBOL(dry_entry(kmem_cache_alloc_lru));

void *dry_entry(kmem_cache_alloc_node)(struct kmem_cache *s, gfp_t flags, int node)
{
	void *object = object_alloc(s, NULL, flags, node);

	trace_kmem_cache_alloc(_RET_IP_, object, s, flags, node);
	return object;
}
EXPORT_SYMBOL(dry_entry(kmem_cache_alloc_node));

/* For kmalloc(), which has its own tracepoints. */
void *dry_kernel_alloc(struct kmem_cache *s, gfp_t flags, int node)
{
	return object_alloc(s, NULL, flags, node);
}

int dry_entry(kmem_cache_alloc_bulk)(struct kmem_cache *s, gfp_t flags, size_t size, void **p)
{
	struct dry_hooks hooks;
	size_t got;

	flags &= gfp_allowed_mask;
	if (unlikely(!dry_before_alloc(&hooks, s, NULL, size, flags)))
		return 0;
	got = dry_alloc_bulk(s->dry, gfp_of_slab(s, flags), size, p);
	if (unlikely(got == 0))
		memset(p, 0, size * sizeof(*p)); /* which the hook knows how to take */
	if (likely(dry_after_alloc(&hooks, s, NULL, flags, size, p)))
		return got;
	put_back(s, got, p);
	return 0;
}
EXPORT_SYMBOL(dry_entry(kmem_cache_alloc_bulk));

/* ---- in ---- */

static __always_inline void object_leaves(struct kmem_cache *s, void *object)
{
	dry_before_free(s, object);
	kmemleak_free_recursive(object, s->flags);
	debug_check_no_locks_freed(object, s->object_size);
	if (!(s->flags & SLAB_DEBUG_OBJECTS))
		debug_check_no_obj_freed(object, s->object_size);
	if (unlikely(slab_want_init_on_free(s)))
		memset(object, 0, s->object_size);
}

static __always_inline void object_put(struct kmem_cache *s, void *object)
{
	if (unlikely(!dry_percpu_push(DRY_SLOTS(dry_kernel_caches), s->place, object)))
		dry_free_slow(s->dry, object);
}

void dry_kernel_free(struct kmem_cache *s, void *object)
{
	object_leaves(s, object);
	object_put(s, object);
}

void kmem_cache_free(struct kmem_cache *s, void *object)
{
	s = cache_from_obj(s, object);
	if (unlikely(s == NULL))
		return;
	trace_kmem_cache_free(_RET_IP_, object, s);
	dry_kernel_free(s, object);
}
EXPORT_SYMBOL(kmem_cache_free);

/* Of one cache. */
static void put_back(struct kmem_cache *s, size_t size, void **p)
{
	size_t pushed;

	for (size_t i = 0; i < size; i++)
		object_leaves(s, p[i]);
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
			dry_kernel_free(folio_slab(folio)->slab_cache, p[i]);
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
