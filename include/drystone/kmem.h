/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * kmem.h - the kernel's names for caches and general allocation, over drystone.h.
 *
 * Code written against the kernel's slab interface builds in user space with this
 * header and runs on real caches of the default heap. Everything here is an inline
 * function or a macro: there is nothing to link but drystone.
 *
 * Conventions are drystone.h's (thread safety, reports of corrupt arguments), with the
 * kernel's differences: sizes in bytes; failure is NULL; kmalloc(0) gives ZERO_SIZE_PTR, which
 * kfree() accepts; GFP flags say nothing here but for __GFP_ZERO, because user space
 * always may wait, and __GFP_NOFAIL, which aborts instead of returning NULL.
 */
#ifndef DRYSTONE_KMEM_H
#define DRYSTONE_KMEM_H

#include <drystone/drystone.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef unsigned int gfp_t;
typedef unsigned int slab_flags_t;

#define __GFP_ZERO   0x0100u /* content is zero */
#define __GFP_NOFAIL 0x0200u /* never NULL: the process ends instead */
#define __GFP_NOWARN 0x0400u /* accepted */
#define GFP_KERNEL   0x0001u
#define GFP_ATOMIC   0x0002u
#define GFP_NOWAIT   0x0004u
#define GFP_NOFS     0x0008u
#define GFP_NOIO     0x0010u
#define GFP_USER     0x0020u

#define SLAB_HWCACHE_ALIGN      DRY_CACHE_HWALIGN
#define SLAB_NO_MERGE           DRY_CACHE_NO_MERGE
#define SLAB_TYPESAFE_BY_RCU    DRY_CACHE_TYPESAFE_BY_RCU /* NULL: the default heap has no grace-period hook */
#define SLAB_POISON             DRY_CACHE_POISON
#define SLAB_RED_ZONE           DRY_CACHE_RED_ZONE
#define SLAB_STORE_USER         DRY_CACHE_STORE_USER
#define SLAB_CONSISTENCY_CHECKS DRY_CACHE_CHECKS
#define SLAB_TRACE              DRY_CACHE_TRACE
#define SLAB_PANIC              0x10000u /* a failing kmem_cache_create() ends the process */
#define SLAB_ACCOUNT            0u       /* accepted, without meaning here, as the next four */
#define SLAB_RECLAIM_ACCOUNT    0u
#define SLAB_MEM_SPREAD         0u

/* What kmalloc(0) returns: never to be followed. */
#define ZERO_SIZE_PTR          ((void *)16)
#define ZERO_OR_NULL_PTR(ptr)  ((uintptr_t)(ptr) <= (uintptr_t)ZERO_SIZE_PTR)

/* A cache; the same object as drystone.h's dry_cache. */
struct kmem_cache;

/* The second form's arguments; zero-initialise, then set what matters. */
struct kmem_cache_args {
	unsigned int align;
	unsigned int useroffset, usersize; /* accepted, without meaning here */
	void (*ctor)(void *object);
};

static inline dry_cache *kmem_to_dry(struct kmem_cache *cache)
{
	return (dry_cache *)(void *)cache;
}

/* End the process with one line; for the flags that promise it. */
static inline void *kmem_give_up(const char *what, const char *name)
{
	fprintf(stderr, "drystone: %s: %s\n", what, name);
	abort();
}

/* ---- caches ----------------------------------------------------------- */

/* The kernel's constructor has one argument; the cache's private one holds it, as bytes: it is a function. */
static inline void kmem_construct(void *object, void *arg)
{
	void (*ctor)(void *);

	memcpy(&ctor, &arg, sizeof(ctor));
	ctor(object);
}

/* First form. NULL: see dry_cache_create(). */
static inline struct kmem_cache *kmem_cache_create_ctor(const char *name, unsigned int size, unsigned int align,
							 slab_flags_t flags, void (*ctor)(void *))
{
	struct dry_cache_attr attr;
	dry_cache *cache;

	memset(&attr, 0, sizeof(attr));
	attr.name = name;
	attr.size = size;
	attr.align = align;
	attr.flags = flags & ~SLAB_PANIC;
	if (ctor != NULL) {
		attr.ctor = kmem_construct;
		memcpy(&attr.arg, &ctor, sizeof(ctor));
	}
	cache = dry_cache_create(NULL, &attr);
	if (cache == NULL && (flags & SLAB_PANIC))
		kmem_give_up("kmem_cache_create failed", name);
	return (struct kmem_cache *)(void *)cache;
}

/* Second form. args may be NULL: all defaults. */
static inline struct kmem_cache *kmem_cache_create_args(const char *name, unsigned int size,
							const struct kmem_cache_args *args, slab_flags_t flags)
{
	return kmem_cache_create_ctor(name, size, args ? args->align : 0, flags, args ? args->ctor : NULL);
}

#ifndef __cplusplus
/*
 * Both forms by the kernel's one name:
 *   kmem_cache_create(name, size, align, flags, ctor)
 *   kmem_cache_create(name, size, args, flags)      args: struct kmem_cache_args *, or NULL
 */
#define kmem_cache_create(name, size, args, ...)                                  \
	_Generic((args), struct kmem_cache_args * : kmem_cache_create_args,       \
		 const struct kmem_cache_args * : kmem_cache_create_args,         \
		 void * : kmem_cache_create_args, default : kmem_cache_create_ctor)( \
		(name), (size), (args), __VA_ARGS__)
#endif

/* With a region that may be copied to users; the region has no meaning here. */
static inline struct kmem_cache *kmem_cache_create_usercopy(const char *name, unsigned int size, unsigned int align,
							    slab_flags_t flags, unsigned int useroffset,
							    unsigned int usersize, void (*ctor)(void *))
{
	(void)useroffset;
	(void)usersize;
	return kmem_cache_create_ctor(name, size, align, flags, ctor);
}

/* A cache for a struct, named for it and aligned as it. */
#define KMEM_CACHE(type, flags) \
	kmem_cache_create_ctor(#type, sizeof(struct type), __alignof__(struct type), (flags), NULL)

/* One line on standard error names cache and count if objects are left; then it stays. */
static inline void kmem_cache_destroy(struct kmem_cache *cache)
{
	dry_cache_destroy(kmem_to_dry(cache));
}

/* 0: also if nothing could be freed. */
static inline int kmem_cache_shrink(struct kmem_cache *cache)
{
	dry_cache_shrink(kmem_to_dry(cache));
	return 0;
}

/* Object size as asked for. */
static inline unsigned int kmem_cache_size(struct kmem_cache *cache)
{
	struct dry_cache_stats stats;

	dry_cache_stats(kmem_to_dry(cache), &stats);
	return (unsigned int)stats.object_size;
}

static inline void *kmem_cache_alloc(struct kmem_cache *cache, gfp_t flags)
{
	void *object = flags & __GFP_ZERO ? dry_cache_zalloc(kmem_to_dry(cache)) : dry_cache_alloc(kmem_to_dry(cache));

	if (object == NULL && (flags & __GFP_NOFAIL))
		kmem_give_up("out of memory", "kmem_cache_alloc");
	return object;
}

static inline void *kmem_cache_zalloc(struct kmem_cache *cache, gfp_t flags)
{
	return kmem_cache_alloc(cache, flags | __GFP_ZERO);
}

/* The node is a hint that is not followed. */
static inline void *kmem_cache_alloc_node(struct kmem_cache *cache, gfp_t flags, int node)
{
	(void)node;
	return kmem_cache_alloc(cache, flags);
}

static inline void kmem_cache_free(struct kmem_cache *cache, void *object)
{
	dry_cache_free(kmem_to_dry(cache), object);
}

/* All (returns count) or none (returns 0). */
static inline int kmem_cache_alloc_bulk(struct kmem_cache *cache, gfp_t flags, size_t count, void **objects)
{
	dry_cache *from = kmem_to_dry(cache);

	return (int)(flags & __GFP_ZERO ? dry_cache_zalloc_bulk(from, count, objects) : dry_cache_alloc_bulk(from, count, objects));
}

static inline void kmem_cache_free_bulk(struct kmem_cache *cache, size_t count, void **objects)
{
	dry_cache_free_bulk(kmem_to_dry(cache), count, objects);
}

/* ---- general ---------------------------------------------------------- */

static inline void *kmalloc(size_t size, gfp_t flags)
{
	void *object;

	if (size == 0)
		return ZERO_SIZE_PTR;
	object = flags & __GFP_ZERO ? dry_zalloc(NULL, size) : dry_alloc(NULL, size);
	if (object == NULL && (flags & __GFP_NOFAIL))
		kmem_give_up("out of memory", "kmalloc");
	return object;
}

static inline void *kzalloc(size_t size, gfp_t flags)
{
	return kmalloc(size, flags | __GFP_ZERO);
}

/* NULL if count * size does not fit. */
static inline void *kmalloc_array(size_t count, size_t size, gfp_t flags)
{
	size_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? NULL : kmalloc(bytes, flags);
}

static inline void *kcalloc(size_t count, size_t size, gfp_t flags)
{
	return kmalloc_array(count, size, flags | __GFP_ZERO);
}

/* Objects of caches may be given, too. NULL and ZERO_SIZE_PTR are ignored. */
static inline void kfree(const void *object)
{
	if (!ZERO_OR_NULL_PTR(object))
		dry_free(NULL, (void *)(uintptr_t)object);
}

/* Bytes usable. */
static inline size_t ksize(const void *object)
{
	return ZERO_OR_NULL_PTR(object) ? 0 : dry_usable_size(NULL, object);
}

/* size 0 frees and gives ZERO_SIZE_PTR; __GFP_ZERO clears what is new. On NULL the old block stays. */
static inline void *krealloc(const void *object, size_t size, gfp_t flags)
{
	size_t old = ksize(object);
	char *result;

	if (size == 0) {
		kfree(object);
		return ZERO_SIZE_PTR;
	}
	result = (char *)dry_realloc(NULL, ZERO_OR_NULL_PTR(object) ? NULL : (void *)(uintptr_t)object, size);
	if (result != NULL && (flags & __GFP_ZERO) && size > old)
		memset(result + old, 0, size - old);
	if (result == NULL && (flags & __GFP_NOFAIL))
		kmem_give_up("out of memory", "krealloc");
	return result;
}

static inline void *krealloc_array(const void *object, size_t count, size_t size, gfp_t flags)
{
	size_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? NULL : krealloc(object, bytes, flags);
}

/* Overwrite with zeros, then free. */
static inline void kfree_sensitive(const void *object)
{
	volatile char *bytes = (volatile char *)(uintptr_t)object;

	for (size_t i = 0, n = ksize(object); i < n; i++)
		bytes[i] = 0;
	kfree(object);
}

/* A copy of a string, or of memory. */
static inline void *kmemdup(const void *from, size_t size, gfp_t flags)
{
	void *copy = kmalloc(size, flags);

	return copy != NULL && size != 0 ? memcpy(copy, from, size) : copy;
}

static inline char *kstrdup(const char *text, gfp_t flags)
{
	return text != NULL ? (char *)kmemdup(text, strlen(text) + 1, flags) : NULL;
}

#ifdef __cplusplus
}
#endif
#endif
