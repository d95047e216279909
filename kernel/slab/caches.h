/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The kernel's one set of caches. */
#ifndef DRY_KERNEL_CACHES_H
#define DRY_KERNEL_CACHES_H

#include "core/cache.h"

extern struct dry_caches *dry_kernel_caches;
extern const struct dry_grace dry_kernel_grace;

/* cache.c: of a cache whose name, sizes and constructor are set; 0 or -errno. */
int dry_kernel_create(struct kmem_cache *s, slab_flags_t flags);
/* A processor is to run. Without memory for its arrays it takes objects from slabs. */
void dry_kernel_prepare_cpu(unsigned int cpu);

/*
 * objects.c: an object with all that the kernel wants done, but for traces of who it is for; by the names that 6.1 has, of which
 * KFENCE's reports leave out those above. caller: not used.
 */
void *__kmem_cache_alloc_node(struct kmem_cache *s, gfp_t flags, int node, size_t size, unsigned long caller);
void __kmem_cache_free(struct kmem_cache *s, void *object, unsigned long caller);

/* meta.c: bytes of memory for metadata. */
size_t dry_kernel_meta_bytes(void);
/* So many bytes are to be had right afterwards, of a node's memory if possible, or NUMA_NO_NODE. Sleeps. false: they are not. */
bool dry_kernel_meta_provide(size_t bytes, int nid);

#endif
