/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * In front of the kernel's own header of this name: kmem.h, and what the suites of tools/testing/radix-tree ask of an
 * allocator besides. Allocations that may not wait fail there, but for as many as a test asks for, and objects are counted.
 */
#ifndef DRY_TESTS_LINUX_SLAB_H
#define DRY_TESTS_LINUX_SLAB_H

#include <linux/gfp.h>

#include <drystone/kmem.h>

#ifdef SUITE /* of tools/testing/radix-tree */
#include "../suite.h"

extern int kmalloc_verbose;

#define kmalloc(size, flags)                           suite_kmalloc(size, flags)
#define kzalloc(size, flags)                           suite_kmalloc(size, (flags) | __GFP_ZERO)
#define kfree(block)                                   suite_kfree(block)
#define kmem_cache_alloc(cache, flags)                 suite_alloc(cache, flags)
#define kmem_cache_alloc_lru(cache, lru, flags)        suite_alloc(cache, flags)
#define kmem_cache_free(cache, object)                 suite_free(cache, object)
#define kmem_cache_alloc_bulk(cache, flags, n, objects) suite_alloc_bulk(cache, flags, n, objects)
#define kmem_cache_free_bulk(cache, n, objects)        suite_free_bulk(cache, n, objects)
#endif

#endif
