// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * What the kernel calls, over the small-machine allocator. A struct kmem_cache has its cache behind it, which may be another
 * name of a class that there is already. Objects of a page and more are pages, as general allocations are.
 *
 * Objects of SLAB_TYPESAFE_BY_RCU caches are freed after the grace period, each by an rcu_head behind it.
 */
#include <linux/kernel.h>
#include <linux/kmemleak.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <trace/events/kmem.h>

#include "mm/internal.h"
#include "mm/slab.h"
#include "base/fatal.h"
#include "memory.h"

#define TRIES 3 /* an object or a cache, its class and that one's slab may each want pages */

struct cache {
	struct kmem_cache common;
	struct dry_cache *objects; /* NULL: they are pages */
};

static struct dry_cache *objects_of(struct kmem_cache *s)
{
	return container_of(s, struct cache, common)->objects;
}

/* ---- what is wrong ---- */

void dry_tiny_bad_pointer(const struct dry_owner *owner, const void *pointer)
{
	dry_tiny_say_pointer(owner, pointer);
}

void dry_tiny_bad_link(const struct dry_class *class, const void *where)
{
	dry_tiny_say_link(class, where);
}

/* The kernel says that itself. */
void dry_tiny_leak(const char *cache, size_t objects)
{
}

/* ---- objects of less than a page ---- */

/* Without a cache: a block of general allocation. */
static void *take(struct dry_cache *objects, size_t size)
{
	void *block;

	if (objects != NULL)
		return dry_cache_alloc(objects);
	dry_tiny_lock();
	block = dry_tiny_alloc(dry_kernel_heap, size, ARCH_KMALLOC_MINALIGN);
	dry_tiny_unlock();
	return block;
}

static noinline void *take_harder(struct dry_cache *objects, size_t size, gfp_t gfp)
{
	const struct dry_class *class = objects != NULL ? objects->owner.class : NULL;
	size_t run = class != NULL ? dry_tiny_slab_pages(class, 1) << PAGE_SHIFT : PAGE_SIZE;
	unsigned int order = get_order(max_t(size_t, run, class != NULL ? class->align : 1));
	void *object = NULL;

	/* Another one may take what was offered. */
	for (int i = 0; (i < TRIES || gfp & __GFP_NOFAIL) && object == NULL && dry_kernel_offer(gfp, order); i++)
		object = take(objects, size);
	dry_kernel_withdraw();
	return object;
}

static void *small_alloc(struct dry_cache *objects, size_t size, gfp_t gfp, bool zero)
{
	void *object = take(objects, size);

	if (unlikely(object == NULL))
		object = take_harder(objects, size, gfp);
	if (object != NULL && zero)
		memset(object, 0, size);
	return object;
}

/* ---- general allocation ---- */

static void *general_alloc(size_t size, gfp_t gfp, int node, unsigned long caller)
{
	void *block;

	gfp &= gfp_allowed_mask;
	might_alloc(gfp);
	if (unlikely(size == 0))
		return ZERO_SIZE_PTR;
	if (size >= PAGE_SIZE)
		return kmalloc_large_node(size, gfp, node);
	block = small_alloc(NULL, size, gfp, want_init_on_alloc(gfp));
	trace_kmalloc(caller, block, size, size, gfp, node);
	kmemleak_alloc(block, size, 1, gfp);
	return block;
}

void *__kmalloc(size_t size, gfp_t gfp)
{
	return general_alloc(size, gfp, NUMA_NO_NODE, _RET_IP_);
}
EXPORT_SYMBOL(__kmalloc);

void *__kmalloc_node(size_t size, gfp_t gfp, int node)
{
	return general_alloc(size, gfp, node, _RET_IP_);
}
EXPORT_SYMBOL(__kmalloc_node);

void *__kmalloc_node_track_caller(size_t size, gfp_t gfp, int node, unsigned long caller)
{
	return general_alloc(size, gfp, node, caller);
}
EXPORT_SYMBOL(__kmalloc_node_track_caller);

static void large_free(struct folio *folio, const void *block)
{
	unsigned int order = folio_order(folio);

	mod_node_page_state(folio_pgdat(folio), NR_SLAB_UNRECLAIMABLE_B, -(PAGE_SIZE << order));
	__free_pages(folio_page(folio, 0), order);
}

void kfree(const void *block)
{
	struct folio *folio;

	trace_kfree(_RET_IP_, block);
	if (unlikely(ZERO_OR_NULL_PTR(block)))
		return;
	kmemleak_free(block);
	folio = virt_to_folio(block);
	if (!folio_test_slab(folio)) {
		large_free(folio, block);
		return;
	}
	dry_tiny_lock();
	dry_tiny_free(dry_kernel_heap, (void *)block);
	dry_tiny_unlock();
}
EXPORT_SYMBOL(kfree);

size_t __ksize(const void *block)
{
	struct folio *folio = virt_to_folio(block);
	size_t size;

	if (ZERO_OR_NULL_PTR(block))
		return 0;
	if (!folio_test_slab(folio))
		return folio_size(folio);
	dry_tiny_lock();
	size = dry_tiny_usable(dry_kernel_heap, block);
	dry_tiny_unlock();
	return size;
}

size_t kmalloc_size_roundup(size_t size)
{
	if (size == 0 || size == SIZE_MAX)
		return size == 0 ? 0 : SIZE_MAX;
	if (size >= PAGE_SIZE)
		return PAGE_SIZE << get_order(size);
	if (ARCH_KMALLOC_MINALIGN > DRY_TINY_UNIT) /* they are powers of two then */
		return roundup_pow_of_two(max_t(size_t, size, ARCH_KMALLOC_MINALIGN));
	return min_t(size_t, dry_tiny_class_size(size), PAGE_SIZE);
}
EXPORT_SYMBOL(kmalloc_size_roundup);

/* ---- objects of caches ---- */

static void *cache_alloc(struct kmem_cache *s, gfp_t gfp, int node, unsigned long caller)
{
	void *object;

	gfp &= gfp_allowed_mask;
	might_alloc(gfp);
	if (objects_of(s) == NULL) {
		object = kmalloc_large_node(s->size, gfp, node);
		if (object != NULL && s->ctor != NULL)
			s->ctor(object);
	} else {
		object = small_alloc(objects_of(s), s->object_size, gfp, slab_want_init_on_alloc(gfp, s));
		kmemleak_alloc_recursive(object, s->object_size, 1, s->flags, gfp);
	}
	trace_kmem_cache_alloc(caller, object, s, gfp, node);
	return object;
}

void *kmem_cache_alloc(struct kmem_cache *s, gfp_t gfp)
{
	return cache_alloc(s, gfp, NUMA_NO_NODE, _RET_IP_);
}
EXPORT_SYMBOL(kmem_cache_alloc);

void *kmem_cache_alloc_lru(struct kmem_cache *s, struct list_lru *lru, gfp_t gfp)
{
	return cache_alloc(s, gfp, NUMA_NO_NODE, _RET_IP_);
}
EXPORT_SYMBOL(kmem_cache_alloc_lru);

void *kmem_cache_alloc_node(struct kmem_cache *s, gfp_t gfp, int node)
{
	return cache_alloc(s, gfp, node, _RET_IP_);
}
EXPORT_SYMBOL(kmem_cache_alloc_node);

static void object_free(struct kmem_cache *s, void *object)
{
	if (objects_of(s) == NULL)
		large_free(virt_to_folio(object), object);
	else
		dry_cache_free(objects_of(s), object);
}

/* Behind each object of a typesafe cache. */
struct graced {
	struct rcu_head rcu;
	struct kmem_cache *cache;
};

static size_t graced_at(const struct kmem_cache *s)
{
	return ALIGN(s->object_size, sizeof(void *));
}

static void free_graced(struct rcu_head *rcu)
{
	struct graced *graced = container_of(rcu, struct graced, rcu);

	object_free(graced->cache, (char *)graced - graced_at(graced->cache));
}

void kmem_cache_free(struct kmem_cache *s, void *object)
{
	struct graced *graced;

	trace_kmem_cache_free(_RET_IP_, object, s);
	kmemleak_free_recursive(object, s->flags);
	if (likely(!(s->flags & SLAB_TYPESAFE_BY_RCU))) {
		object_free(s, object);
		return;
	}
	graced = object + graced_at(s);
	graced->cache = s;
	call_rcu(&graced->rcu, free_graced);
}
EXPORT_SYMBOL(kmem_cache_free);

/* The kernel has its own two for whom nothing is quicker in bulk. */
void kmem_cache_free_bulk(struct kmem_cache *s, size_t size, void **p)
{
	for (size_t i = 0; i < size; i++)
		if (s != NULL)
			kmem_cache_free(s, p[i]);
		else
			kfree(p[i]);
}
EXPORT_SYMBOL(kmem_cache_free_bulk);

int kmem_cache_alloc_bulk(struct kmem_cache *s, gfp_t gfp, size_t size, void **p)
{
	for (size_t i = 0; i < size; i++) {
		p[i] = kmem_cache_alloc(s, gfp);
		if (p[i] == NULL) {
			kmem_cache_free_bulk(s, i, p);
			return 0;
		}
	}
	return size;
}
EXPORT_SYMBOL(kmem_cache_alloc_bulk);

#ifdef CONFIG_PRINTK
void __kmem_obj_info(struct kmem_obj_info *kpp, void *object, struct slab *slab)
{
	kpp->kp_ptr = object;
	kpp->kp_slab = slab;
}
#endif

/* ---- caches ---- */

static void construct(void *object, void *s)
{
	((struct kmem_cache *)s)->ctor(object);
}

int __kmem_cache_create(struct kmem_cache *s, slab_flags_t flags)
{
	struct cache *cache = container_of(s, struct cache, common);
	struct dry_cache_attr attr = { .name = s->name, .align = s->align, .ctor = s->ctor != NULL ? construct : NULL, .arg = s };

	s->flags = flags;
	if (flags & SLAB_TYPESAFE_BY_RCU)
		s->size = graced_at(s) + sizeof(struct graced);
	if (s->size >= PAGE_SIZE)
		return 0;
	attr.size = s->size;
	cache->objects = dry_cache_create(dry_kernel_heap, &attr);
	for (int i = 0; i < TRIES && cache->objects == NULL && dry_kernel_offer(GFP_KERNEL, 0); i++)
		cache->objects = dry_cache_create(dry_kernel_heap, &attr);
	dry_kernel_withdraw();
	return cache->objects != NULL ? 0 : -ENOMEM;
}

int __kmem_cache_shutdown(struct kmem_cache *s)
{
	if (s->flags & SLAB_TYPESAFE_BY_RCU)
		rcu_barrier();
	return dry_cache_destroy(objects_of(s));
}

void __kmem_cache_release(struct kmem_cache *s)
{
}

int __kmem_cache_shrink(struct kmem_cache *s)
{
	struct dry_cache *objects = objects_of(s);
	size_t used = 0;

	if (objects != NULL) {
		dry_cache_shrink(objects);
		dry_tiny_lock();
		used = dry_tiny_class_used(objects->owner.class);
		dry_tiny_unlock();
	}
	return used != 0;
}

void __init kmem_cache_init(void)
{
	static struct cache cache_of_caches = {
		.common = {
			.name = "kmem_cache",
			.object_size = sizeof(struct cache),
			.size = sizeof(struct cache),
			.align = ARCH_KMALLOC_MINALIGN,
			.refcount = 1,
		},
	};

	dry_fatal_aborts = false; /* what can go on does, after a report */
	dry_kernel_heap_init();
	kmem_cache = &cache_of_caches.common;
	__kmem_cache_create(kmem_cache, SLAB_PANIC);
	slab_state = UP;
}

void __init kmem_cache_init_late(void)
{
	slab_state = FULL;
}
