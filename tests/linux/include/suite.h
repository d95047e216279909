/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The calls of tests/linux/suite.c, behind the kernel's names for them (linux/slab.h). */
#ifndef DRY_TESTS_LINUX_SUITE_H
#define DRY_TESTS_LINUX_SUITE_H

#include <drystone/kmem.h>

void *suite_kmalloc(size_t size, gfp_t flags);
void suite_kfree(void *block);
void *suite_alloc(struct kmem_cache *cache, gfp_t flags);
void suite_free(struct kmem_cache *cache, void *object);
int suite_alloc_bulk(struct kmem_cache *cache, gfp_t flags, size_t n, void **objects);
void suite_free_bulk(struct kmem_cache *cache, size_t n, void **objects);

#endif
