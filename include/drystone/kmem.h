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
 * kfree() accepts; kmem_gfp.h says what the flags mean.
 *
 *   kmem_gfp.h      gfp_t, GFP_*, __GFP_*
 *   kmem_reclaim.h  shrinkers
 *   kmem_pages.h    alloc_pages() and its like, vmalloc()
 *   kmem.h          includes these; kmem_cache_*, kmalloc(), kvmalloc() and their like, strings, kfree_rcu()
 *   kmem_pool.h     mempool_*; to be included besides
 */
#ifndef DRYSTONE_KMEM_H
#define DRYSTONE_KMEM_H

#include <drystone/drystone.h>
#include <drystone/kmem_pages.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef unsigned int slab_flags_t;

#define SLAB_HWCACHE_ALIGN      DRY_CACHE_HWALIGN
#define SLAB_NO_MERGE           DRY_CACHE_NO_MERGE
#define SLAB_TYPESAFE_BY_RCU    DRY_CACHE_TYPESAFE_BY_RCU /* NULL: the default heap has no grace-period hook */
#define SLAB_POISON             DRY_CACHE_POISON
#define SLAB_RED_ZONE           DRY_CACHE_RED_ZONE
#define SLAB_STORE_USER         DRY_CACHE_STORE_USER
#define SLAB_CONSISTENCY_CHECKS DRY_CACHE_CHECKS
#define SLAB_TRACE              DRY_CACHE_TRACE
#define SLAB_PANIC              0x10000u /* a failing kmem_cache_create() ends the process */
#define SLAB_ACCOUNT            0u       /* accepted, without meaning here, as all that follow */
#define SLAB_RECLAIM_ACCOUNT    0u
#define SLAB_MEM_SPREAD         0u
#define SLAB_TEMPORARY          0u
#define SLAB_NOLEAKTRACE        0u
#define SLAB_CACHE_DMA          0u
#define SLAB_CACHE_DMA32        0u

/* What kmalloc(0) returns: never to be followed. */
#define ZERO_SIZE_PTR          ((void *)16)
#define ZERO_OR_NULL_PTR(ptr)  ((uintptr_t)(ptr) <= (uintptr_t)ZERO_SIZE_PTR)

/* A cache; the same object as drystone.h's dry_cache. */
struct kmem_cache;

/* The second form's arguments; zero-initialise, then set what matters. */
struct kmem_cache_args {
	unsigned int align;
	unsigned int useroffset, usersize; /* accepted, without meaning here */
	unsigned int freeptr_offset;       /* likewise, and the next one: links of free objects do not touch constructed ones */
	bool use_freeptr_offset;
	void (*ctor)(void *object);
	unsigned int sheaf_capacity;       /* likewise: each CPU has an array of free objects in any case */
};

static inline dry_cache *kmem_to_dry(struct kmem_cache *cache)
{
	return (dry_cache *)(void *)cache;
}

/* ---- caches ----------------------------------------------------------- */

/* The kernel's constructor has one argument; the cache's private one holds it, as bytes: it is a function. */
static inline void kmem_construct(void *object, void *arg)
{
	void (*ctor)(void *);

	memcpy(&ctor, &arg, sizeof(ctor));
	ctor(object);
}

/* First form. With a constructor SLAB_POISON has no meaning, as in the kernel. NULL: see dry_cache_create(). */
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
		attr.flags &= ~SLAB_POISON;
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

#if !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
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
#elif !defined(__cplusplus) /* C99 has the first form; for C++ both are at the end */
#define kmem_cache_create kmem_cache_create_ctor
#endif

/* What file systems in user space say. */
static inline struct kmem_cache *kmem_cache_init(unsigned int size, const char *name)
{
	return kmem_cache_create_ctor(name, size, 0, 0, NULL);
}

/* With a region that may be copied to users; the region has no meaning here. */
static inline struct kmem_cache *kmem_cache_create_usercopy(const char *name, unsigned int size, unsigned int align,
							    slab_flags_t flags, unsigned int useroffset,
							    unsigned int usersize, void (*ctor)(void *))
{
	(void)useroffset;
	(void)usersize;
	return kmem_cache_create_ctor(name, size, align, flags, ctor);
}

#ifndef ARCH_KMALLOC_MINALIGN
#define ARCH_KMALLOC_MINALIGN 8
#endif
#ifndef KMALLOC_MAX_SIZE
#define KMALLOC_MAX_SIZE ((size_t)PTRDIFF_MAX)
#endif
#define KMEM_ALIGNED_MAX ((size_t)4 << 20) /* the most that the kernel's own kmalloc() gives */

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
	bool zero = (flags & (gfp_t)__GFP_ZERO) != 0;
	void *object;
	int round = 0;

	do
		object = zero ? dry_cache_zalloc(kmem_to_dry(cache)) : dry_cache_alloc(kmem_to_dry(cache));
	while (object == NULL && kmem_again(flags, round++, "kmem_cache_alloc"));
	return object;
}

static inline void *kmem_cache_zalloc(struct kmem_cache *cache, gfp_t flags)
{
	return kmem_cache_alloc(cache, flags | (gfp_t)__GFP_ZERO);
}

/* The node is a hint that is not followed. */
static inline void *kmem_cache_alloc_node(struct kmem_cache *cache, gfp_t flags, int node)
{
	(void)node;
	return kmem_cache_alloc(cache, flags);
}

struct list_lru;

/* The list is where a kernel would put it later: without meaning here. */
static inline void *kmem_cache_alloc_lru(struct kmem_cache *cache, struct list_lru *lru, gfp_t flags)
{
	(void)lru;
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
	bool zero = (flags & (gfp_t)__GFP_ZERO) != 0;
	size_t got;
	int round = 0;

	do
		got = zero ? dry_cache_zalloc_bulk(from, count, objects) : dry_cache_alloc_bulk(from, count, objects);
	while (got < count && kmem_again(flags, round++, "kmem_cache_alloc_bulk"));
	return (int)got;
}

static inline void kmem_cache_free_bulk(struct kmem_cache *cache, size_t count, void **objects)
{
	dry_cache_free_bulk(kmem_to_dry(cache), count, objects);
}

/* ---- general ---------------------------------------------------------- */

/* A power of two is aligned to itself, up to KMEM_ALIGNED_MAX; dry_alloc() alone promises that up to 4096. 0: any other size. */
static inline size_t kmem_natural(size_t size)
{
	return size <= KMEM_ALIGNED_MAX && (size & (size - 1)) == 0 ? size : 0;
}

static inline void *kmalloc(size_t size, gfp_t flags)
{
	size_t align = kmem_natural(size);

	return size != 0 ? kmem_block(size, align > 4096 ? align : 0, flags, "kmalloc") : ZERO_SIZE_PTR;
}

static inline void *kzalloc(size_t size, gfp_t flags)
{
	return kmalloc(size, flags | (gfp_t)__GFP_ZERO);
}

/* NULL if count * size does not fit. */
static inline void *kmalloc_array(size_t count, size_t size, gfp_t flags)
{
	size_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? NULL : kmalloc(bytes, flags);
}

static inline void *kcalloc(size_t count, size_t size, gfp_t flags)
{
	return kmalloc_array(count, size, flags | (gfp_t)__GFP_ZERO);
}

/* The node is a hint that is not followed. */
static inline void *kmalloc_node(size_t size, gfp_t flags, int node)
{
	(void)node;
	return kmalloc(size, flags);
}

static inline void *kzalloc_node(size_t size, gfp_t flags, int node)
{
	(void)node;
	return kzalloc(size, flags);
}

static inline void *kmalloc_array_node(size_t count, size_t size, gfp_t flags, int node)
{
	(void)node;
	return kmalloc_array(count, size, flags);
}

static inline void *kcalloc_node(size_t count, size_t size, gfp_t flags, int node)
{
	(void)node;
	return kcalloc(count, size, flags);
}

/* Objects of caches may be given, too (not with libdrystone-sequential). NULL and ZERO_SIZE_PTR are ignored. */
static inline void kfree(const void *object)
{
	if (!ZERO_OR_NULL_PTR(object))
		dry_free(NULL, (void *)(uintptr_t)object);
}

static inline void kfree_bulk(size_t count, void **objects)
{
	for (size_t i = 0; i < count; i++)
		kfree(objects[i]);
}

/* Bytes usable: a figure, as dry_usable_size()'s. krealloc(object, ksize(object), flags) makes them the program's. */
static inline size_t ksize(const void *object)
{
	return ZERO_OR_NULL_PTR(object) ? 0 : dry_usable_size(NULL, object);
}

/* By kmalloc() and a copy; one that shrinks, and is aligned, stays where there is no memory for that. */
static inline void *kmem_move(void *block, size_t old, size_t size, gfp_t flags)
{
	void *copy = kmalloc(size, flags);

	if (copy == NULL && size <= old && (uintptr_t)block % size == 0)
		return (flags & (gfp_t)__GFP_ZERO) != 0 ? kmem_clear_rest(block, size) : block;
	if (copy == NULL)
		return NULL;
	memcpy(copy, block, size < old ? size : old);
	kfree(block);
	return copy;
}

/*
 * Aligned as by kmalloc(). size 0 frees and gives ZERO_SIZE_PTR. __GFP_ZERO: what is new is zero, if all calls for the block had
 * it, from its allocation on. On NULL the old block stays.
 */
static inline void *krealloc(const void *object, size_t size, gfp_t flags)
{
	void *block = ZERO_OR_NULL_PTR(object) ? NULL : (void *)(uintptr_t)object;
	size_t old = ksize(block), align = kmem_natural(size);
	void *result, *moved;
	int round = 0;

	if (block == NULL)
		return kmalloc(size, flags);
	if (size == 0) {
		kfree(object);
		return ZERO_SIZE_PTR;
	}
	if (align != 0 && (size > old || size <= old / 2 || (uintptr_t)block % align != 0))
		return kmem_move(block, old, size, flags);
	do
		result = dry_realloc(NULL, block, size);
	while (result == NULL && kmem_again(flags, round++, "krealloc"));
	if (align != 0 && result != NULL && (uintptr_t)result % align != 0) { /* dry_realloc() has moved it */
		moved = kmem_move(result, size, size, flags);
		result = moved != NULL ? moved : result;
	}
	return result != NULL && (flags & (gfp_t)__GFP_ZERO) != 0 ? kmem_clear_rest(result, size < old ? size : old) : result;
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

static inline void kzfree(const void *object)
{
	kfree_sensitive(object);
}

/* ---- as big as may be: here all the same ---------------------------------- */

/* Without kmalloc()'s alignment: in the kernel such memory may be vmalloc()'s. */
static inline void *kvmalloc(size_t size, gfp_t flags)
{
	return size != 0 ? kmem_block(size, 0, flags, "kvmalloc") : ZERO_SIZE_PTR;
}

static inline void *kvzalloc(size_t size, gfp_t flags)
{
	return kvmalloc(size, flags | (gfp_t)__GFP_ZERO);
}

static inline void *kvmalloc_node(size_t size, gfp_t flags, int node)
{
	(void)node;
	return kvmalloc(size, flags);
}

static inline void *kvzalloc_node(size_t size, gfp_t flags, int node)
{
	(void)node;
	return kvzalloc(size, flags);
}

static inline void *kvmalloc_array(size_t count, size_t size, gfp_t flags)
{
	size_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? NULL : kvmalloc(bytes, flags);
}

static inline void *kvcalloc(size_t count, size_t size, gfp_t flags)
{
	return kvmalloc_array(count, size, flags | (gfp_t)__GFP_ZERO);
}

static inline void kvfree(const void *object)
{
	kfree(object);
}

static inline void kvfree_sensitive(const void *object, size_t size)
{
	(void)size;
	kfree_sensitive(object);
}

static inline void *kmem_kvrealloc_from(const void *object, size_t old_size, size_t size, gfp_t flags)
{
	(void)old_size;
	return krealloc(object, size, flags);
}

/* kvrealloc(object, size, flags), and as in Linux 6.1: kvrealloc(object, old_size, size, flags). */
#define kvrealloc(object, ...)                      \
	KMEM_FOURTH(__VA_ARGS__, kmem_kvrealloc_from, krealloc, 0)((object), __VA_ARGS__)
#define KMEM_FOURTH(one, two, three, four, ...)     four

/* ---- copies of memory and text ------------------------------------------- */

static inline void *kmemdup(const void *from, size_t size, gfp_t flags)
{
	void *copy = kmalloc(size, flags);

	return copy != NULL && size != 0 ? memcpy(copy, from, size) : copy;
}

static inline void *kvmemdup(const void *from, size_t size, gfp_t flags)
{
	return kmemdup(from, size, flags);
}

static inline void *kmemdup_array(const void *from, size_t size, size_t count, gfp_t flags)
{
	size_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? NULL : kmemdup(from, bytes, flags);
}

/* size bytes and a zero. */
static inline char *kmemdup_nul(const char *from, size_t size, gfp_t flags)
{
	char *copy = from != NULL && size != SIZE_MAX ? (char *)kmalloc(size + 1, flags) : NULL;

	if (copy != NULL) {
		memcpy(copy, from, size);
		copy[size] = '\0';
	}
	return copy;
}

static inline char *kstrdup(const char *text, gfp_t flags)
{
	return text != NULL ? (char *)kmemdup(text, strlen(text) + 1, flags) : NULL;
}

/* At most max bytes of it. */
static inline char *kstrndup(const char *text, size_t max, gfp_t flags)
{
	const char *end = text != NULL ? (const char *)memchr(text, '\0', max) : NULL;

	return kmemdup_nul(text, end != NULL ? (size_t)(end - text) : max, flags);
}

static inline const char *kstrdup_const(const char *text, gfp_t flags)
{
	return kstrdup(text, flags);
}

static inline void kfree_const(const void *text)
{
	kfree(text);
}

__attribute__((format(printf, 2, 0))) static inline char *kvasprintf(gfp_t flags, const char *format, va_list arguments)
{
	va_list again;
	char *text;
	int length;

	va_copy(again, arguments);
	length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	text = length >= 0 ? (char *)kmalloc((size_t)length + 1, flags) : NULL;
	if (text != NULL)
		vsnprintf(text, (size_t)length + 1, format, arguments);
	return text;
}

__attribute__((format(printf, 2, 3))) static inline char *kasprintf(gfp_t flags, const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	text = kvasprintf(flags, format, arguments);
	va_end(arguments);
	return text;
}

/* ---- after a grace period --------------------------------------------------- */

KMEM_SHARED const struct dry_grace *kmem_grace = NULL;

/*
 * Who knows when readers have left (struct dry_grace in drystone.h says how; liburcu's call_rcu() and rcu_barrier() do);
 * before the first kfree_rcu(), it stays. Without it there are no readers: kfree_rcu() frees at once.
 */
static inline void kmem_set_grace(const struct dry_grace *grace)
{
	kmem_grace = grace;
}

/* All that kfree_rcu() was given so far is freed. */
static inline void kfree_rcu_barrier(void)
{
	if (kmem_grace != NULL)
		(kmem_grace->barrier)(kmem_grace->arg); /* the kernel has a macro of this name */
}

struct kmem_deferred {
	struct dry_grace_head head; /* first: a pointer to it is one to all */
	const void *object;
};

static inline void kmem_deferred_free(struct dry_grace_head *head)
{
	struct kmem_deferred *deferred = (struct kmem_deferred *)(void *)head;

	kfree(deferred->object);
	dry_free(NULL, deferred);
}

static inline void kmem_grace_over(struct dry_grace_head *head)
{
	(void)head;
}

/* Without memory for the note it waits for the grace period itself. */
static inline void kfree_rcu_mightsleep(const void *object)
{
	struct kmem_deferred *deferred = NULL, waited;

	if (!ZERO_OR_NULL_PTR(object) && kmem_grace != NULL) {
		deferred = (struct kmem_deferred *)dry_zalloc(NULL, sizeof(*deferred));
		if (deferred != NULL) {
			deferred->object = object;
			kmem_grace->call(kmem_grace->arg, &deferred->head, kmem_deferred_free);
			return;
		}
		memset(&waited, 0, sizeof(waited));
		kmem_grace->call(kmem_grace->arg, &waited.head, kmem_grace_over);
		(kmem_grace->barrier)(kmem_grace->arg);
	}
	kfree(object);
}

/* kfree_rcu(object) and kfree_rcu(object, field): the field is not needed, and need not be there. */
#define kfree_rcu(...)                KMEM_RCU_ONE(__VA_ARGS__, 0)
#define KMEM_RCU_ONE(object, ...)     kfree_rcu_mightsleep(object)
#define kvfree_rcu(...)               KMEM_RCU_ONE(__VA_ARGS__, 0)
#define kvfree_rcu_mightsleep(object) kfree_rcu_mightsleep(object)

#ifdef __cplusplus
}

/* Both forms by the kernel's one name, as in C. */
static inline struct kmem_cache *kmem_cache_create(const char *name, unsigned int size, unsigned int align,
						   slab_flags_t flags, void (*ctor)(void *))
{
	return kmem_cache_create_ctor(name, size, align, flags, ctor);
}

static inline struct kmem_cache *kmem_cache_create(const char *name, unsigned int size,
						   const struct kmem_cache_args *args, slab_flags_t flags)
{
	return kmem_cache_create_args(name, size, args, flags);
}
#endif
#endif
