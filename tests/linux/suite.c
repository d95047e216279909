/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the suites of tools/testing/radix-tree ask of an allocator besides the kernel's calls: see linux/slab.h. */
#include <stdio.h>
#include <stdlib.h>

#include <drystone/kmem.h>

#include "include/suite.h"

#define MOST_CACHES 8

int nr_allocated, preempt_count, test_verbose, kmalloc_verbose, kmalloc_nr_allocated;

/* By the suites' own words. */
void kmem_cache_set_non_kernel(struct kmem_cache *cache, unsigned int n);
unsigned long kmem_cache_get_alloc(struct kmem_cache *cache);
unsigned long kmem_cache_nr_allocated(struct kmem_cache *cache);
unsigned long kmem_cache_nr_tallocated(struct kmem_cache *cache);
void kmem_cache_zero_nr_tallocated(struct kmem_cache *cache);
void test_kmem_cache_bulk(void);

struct count {
	struct kmem_cache *cache;
	unsigned int may;        /* so many allocations that may not wait succeed */
	unsigned long out, ever; /* objects */
};
static struct count counts[MOST_CACHES];

/* Caches are made before there are threads. */
static struct count *count_of(struct kmem_cache *cache)
{
	struct count *count = counts;

	while (count->cache != NULL && count->cache != cache)
		if (++count == counts + MOST_CACHES)
			abort();
	count->cache = cache;
	return count;
}

static void add(struct count *count, long n)
{
	__atomic_add_fetch(&nr_allocated, (int)n, __ATOMIC_RELAXED);
	__atomic_add_fetch(&count->out, (unsigned long)n, __ATOMIC_RELAXED);
	if (n > 0)
		__atomic_add_fetch(&count->ever, (unsigned long)n, __ATOMIC_RELAXED);
}

static bool may(struct count *count, gfp_t flags, unsigned int n)
{
	if (gfpflags_allow_blocking(flags))
		return true;
	if (count->may < n)
		return false;
	count->may -= n;
	return true;
}

void *suite_alloc(struct kmem_cache *cache, gfp_t flags)
{
	struct count *count = count_of(cache);
	void *object = may(count, flags, 1) ? kmem_cache_alloc(cache, flags) : NULL;

	if (object != NULL)
		add(count, 1);
	return object;
}

void suite_free(struct kmem_cache *cache, void *object)
{
	add(count_of(cache), -1);
	kmem_cache_free(cache, object);
}

int suite_alloc_bulk(struct kmem_cache *cache, gfp_t flags, size_t n, void **objects)
{
	struct count *count = count_of(cache);
	int got = may(count, flags, (unsigned int)n) ? (int)kmem_cache_alloc_bulk(cache, flags, n, objects) : 0;

	add(count, got);
	return got;
}

void suite_free_bulk(struct kmem_cache *cache, size_t n, void **objects)
{
	add(count_of(cache), -(long)n);
	kmem_cache_free_bulk(cache, n, objects);
}

void *suite_kmalloc(size_t size, gfp_t flags)
{
	void *block = gfpflags_allow_blocking(flags) ? kmalloc(size, flags) : NULL;

	if (block != NULL)
		__atomic_add_fetch(&kmalloc_nr_allocated, 1, __ATOMIC_RELAXED);
	return block;
}

void suite_kfree(void *block)
{
	if (block != NULL)
		__atomic_sub_fetch(&kmalloc_nr_allocated, 1, __ATOMIC_RELAXED);
	kfree(block);
}

void kmem_cache_set_non_kernel(struct kmem_cache *cache, unsigned int n)
{
	count_of(cache)->may = n;
}

unsigned long kmem_cache_get_alloc(struct kmem_cache *cache)
{
	return kmem_cache_size(cache) * count_of(cache)->out;
}

unsigned long kmem_cache_nr_allocated(struct kmem_cache *cache)
{
	return count_of(cache)->out;
}

unsigned long kmem_cache_nr_tallocated(struct kmem_cache *cache)
{
	return count_of(cache)->ever;
}

void kmem_cache_zero_nr_tallocated(struct kmem_cache *cache)
{
	count_of(cache)->ever = 0;
}

/* Theirs looks into the allocator that the suites bring along. */
void test_kmem_cache_bulk(void)
{
	static const unsigned int aligns[] = { 0, 128 };

	for (int i = 0; i < 2; i++) {
		struct kmem_cache *cache = kmem_cache_create("bulk", 128, aligns[i], 0, NULL);
		void *objects[12];

		if ((int)kmem_cache_alloc_bulk(cache, GFP_KERNEL, 12, objects) != 12)
			abort();
		for (int n = 0; n < 12; n++)
			if (objects[n] == NULL || (aligns[i] != 0 && (size_t)objects[n] % aligns[i] != 0))
				abort();
		kmem_cache_free_bulk(cache, 12, objects);
		kmem_cache_destroy(cache);
	}
}
