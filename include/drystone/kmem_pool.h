/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * kmem_pool.h - the kernel's mempool: at least min_nr elements can be had, whatever memory is left.
 *
 * An allocation asks the pool's function first and takes from the reserve when that gives nothing; with the reserve empty,
 * too, it waits for a free if the flags allow it, else it is NULL. A free fills the reserve first.
 */
#ifndef DRYSTONE_KMEM_POOL_H
#define DRYSTONE_KMEM_POOL_H

#include <drystone/kmem.h>
#include <errno.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void *(mempool_alloc_t)(gfp_t flags, void *pool_data);
typedef void(mempool_free_t)(void *element, void *pool_data);

/* 0 <= curr_nr <= min_nr; elements[0, curr_nr) are free. */
typedef struct mempool_s {
	int lock; /* guards curr_nr, min_nr and elements */
	int min_nr, curr_nr;
	void **elements;
	void *pool_data;
	mempool_alloc_t *alloc;
	mempool_free_t *free;
} mempool_t;

static inline bool mempool_initialized(const mempool_t *pool)
{
	return pool->elements != NULL;
}

/* Of an element that is in the reserve, or NULL. */
static inline void *kmem_pool_take(mempool_t *pool)
{
	void *element = NULL;

	kmem_lock(&pool->lock);
	if (pool->curr_nr > 0) {
		element = pool->elements[pool->curr_nr - 1];
		__atomic_store_n(&pool->curr_nr, pool->curr_nr - 1, __ATOMIC_RELEASE); /* whole in the child of a fork */
	}
	kmem_unlock(&pool->lock);
	return element;
}

/* Whether the reserve had room for it. */
static inline bool kmem_pool_put(mempool_t *pool, void *element)
{
	bool room;

	kmem_lock(&pool->lock);
	room = pool->curr_nr < pool->min_nr;
	if (room) {
		pool->elements[pool->curr_nr] = element;
		__atomic_store_n(&pool->curr_nr, pool->curr_nr + 1, __ATOMIC_RELEASE); /* whole in the child of a fork */
	}
	kmem_unlock(&pool->lock);
	return room;
}

static inline void mempool_exit(mempool_t *pool)
{
	void *element;

	while ((element = kmem_pool_take(pool)) != NULL)
		pool->free(element, pool->pool_data);
	kfree(pool->elements);
	pool->elements = NULL;
}

static inline void mempool_destroy(mempool_t *pool)
{
	if (pool != NULL)
		mempool_exit(pool);
	kfree(pool);
}

/* 0 or -ENOMEM, then the pool has what it could get. */
static inline int kmem_pool_fill(mempool_t *pool)
{
	for (;;) {
		void *element;
		bool full;

		kmem_lock(&pool->lock);
		full = pool->curr_nr >= pool->min_nr;
		kmem_unlock(&pool->lock);
		if (full)
			return 0;
		element = pool->alloc((gfp_t)GFP_KERNEL, pool->pool_data);
		if (element == NULL)
			return -ENOMEM;
		if (!kmem_pool_put(pool, element))
			pool->free(element, pool->pool_data);
	}
}

/* min_nr is at least 1. 0, -EINVAL or -ENOMEM. */
static inline int mempool_init(mempool_t *pool, int min_nr, mempool_alloc_t *alloc_fn, mempool_free_t *free_fn, void *data)
{
	int error;

	memset(pool, 0, sizeof(*pool));
	kmem_watch_forks();
	if (min_nr < 1)
		return -EINVAL;
	pool->min_nr = min_nr;
	pool->alloc = alloc_fn;
	pool->free = free_fn;
	pool->pool_data = data;
	pool->elements = (void **)kmalloc_array((size_t)min_nr, sizeof(void *), (gfp_t)GFP_KERNEL);
	error = pool->elements != NULL ? kmem_pool_fill(pool) : -ENOMEM;
	if (error != 0)
		mempool_exit(pool);
	return error;
}

static inline mempool_t *mempool_create(int min_nr, mempool_alloc_t *alloc_fn, mempool_free_t *free_fn, void *data)
{
	mempool_t *pool = (mempool_t *)kmalloc(sizeof(*pool), (gfp_t)GFP_KERNEL);

	if (pool != NULL && mempool_init(pool, min_nr, alloc_fn, free_fn, data) != 0) {
		kfree(pool);
		pool = NULL;
	}
	return pool;
}

static inline mempool_t *mempool_create_node(int min_nr, mempool_alloc_t *alloc_fn, mempool_free_t *free_fn, void *data,
					     gfp_t flags, int node)
{
	(void)flags;
	(void)node;
	return mempool_create(min_nr, alloc_fn, free_fn, data);
}

/* Another size of the reserve; not while others resize. 0, -EINVAL or -ENOMEM: as it was, or with fewer in it. */
static inline int mempool_resize(mempool_t *pool, int min_nr)
{
	void **elements, *element;

	if (min_nr < 1)
		return -EINVAL;
	elements = (void **)kmalloc_array((size_t)min_nr, sizeof(void *), (gfp_t)GFP_KERNEL);
	if (elements == NULL)
		return -ENOMEM;
	kmem_lock(&pool->lock);
	if (min_nr < pool->min_nr)
		pool->min_nr = min_nr; /* from now on more are not kept */
	while (pool->curr_nr > min_nr) {
		element = pool->elements[pool->curr_nr - 1];
		__atomic_store_n(&pool->curr_nr, pool->curr_nr - 1, __ATOMIC_RELEASE);
		kmem_unlock(&pool->lock);
		pool->free(element, pool->pool_data);
		kmem_lock(&pool->lock);
	}
	memcpy(elements, pool->elements, (size_t)pool->curr_nr * sizeof(void *));
	element = pool->elements;
	__atomic_store_n(&pool->elements, elements, __ATOMIC_RELEASE); /* whole in the child of a fork: */
	__atomic_store_n(&pool->min_nr, min_nr, __ATOMIC_RELEASE);     /* room for more comes first */
	kmem_unlock(&pool->lock);
	kfree(element);
	return kmem_pool_fill(pool);
}

/* Never NULL if the flags allow to wait. */
static inline void *mempool_alloc(mempool_t *pool, gfp_t flags)
{
	/* The reserve stands in for what makes an allocation insist. */
	const gfp_t gently = flags & ~((gfp_t)__GFP_DIRECT_RECLAIM | (gfp_t)__GFP_NOFAIL);

	for (;; kmem_relax()) {
		void *element = pool->alloc(gently, pool->pool_data);
		if (element == NULL)
			element = kmem_pool_take(pool);
		if (element == NULL && gfpflags_allow_blocking(flags))
			element = pool->alloc(flags & ~(gfp_t)__GFP_NOFAIL, pool->pool_data);
		if (element != NULL || !gfpflags_allow_blocking(flags))
			return element;
	}
}

/* NULL is ignored. */
static inline void mempool_free(void *element, mempool_t *pool)
{
	if (element != NULL && !kmem_pool_put(pool, element))
		pool->free(element, pool->pool_data);
}

/* ---- pools of a cache, of blocks of a size, of 2^order pages ------------- */

static inline void *mempool_alloc_slab(gfp_t flags, void *cache)
{
	return kmem_cache_alloc((struct kmem_cache *)cache, flags);
}

static inline void mempool_free_slab(void *element, void *cache)
{
	kmem_cache_free((struct kmem_cache *)cache, element);
}

static inline void *mempool_kmalloc(gfp_t flags, void *size)
{
	return kmalloc((size_t)(uintptr_t)size, flags);
}

static inline void mempool_kfree(void *element, void *size)
{
	(void)size;
	kfree(element);
}

static inline void *mempool_alloc_pages(gfp_t flags, void *order)
{
	return alloc_pages(flags, (unsigned int)(uintptr_t)order);
}

static inline void mempool_free_pages(void *element, void *order)
{
	__free_pages((struct page *)element, (unsigned int)(uintptr_t)order);
}

static inline mempool_t *mempool_create_slab_pool(int min_nr, struct kmem_cache *cache)
{
	return mempool_create(min_nr, mempool_alloc_slab, mempool_free_slab, cache);
}

static inline mempool_t *mempool_create_kmalloc_pool(int min_nr, size_t size)
{
	return mempool_create(min_nr, mempool_kmalloc, mempool_kfree, (void *)(uintptr_t)size);
}

static inline mempool_t *mempool_create_page_pool(int min_nr, int order)
{
	return mempool_create(min_nr, mempool_alloc_pages, mempool_free_pages, (void *)(uintptr_t)order);
}

static inline int mempool_init_slab_pool(mempool_t *pool, int min_nr, struct kmem_cache *cache)
{
	return mempool_init(pool, min_nr, mempool_alloc_slab, mempool_free_slab, cache);
}

/* kmalloc() gives blocks of every size. */
#define mempool_create_kvmalloc_pool(min_nr, size)     mempool_create_kmalloc_pool(min_nr, size)
#define mempool_init_kvmalloc_pool(pool, min_nr, size) mempool_init_kmalloc_pool(pool, min_nr, size)

static inline int mempool_init_kmalloc_pool(mempool_t *pool, int min_nr, size_t size)
{
	return mempool_init(pool, min_nr, mempool_kmalloc, mempool_kfree, (void *)(uintptr_t)size);
}

static inline int mempool_init_page_pool(mempool_t *pool, int min_nr, int order)
{
	return mempool_init(pool, min_nr, mempool_alloc_pages, mempool_free_pages, (void *)(uintptr_t)order);
}

#ifdef __cplusplus
}
#endif
#endif
