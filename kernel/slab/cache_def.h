/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* struct kmem_cache, and what the kernel asks of slabs inline; mm/slab.h includes this in place of its own. */
#ifndef _LINUX_DRYSTONE_CACHE_DEF_H
#define _LINUX_DRYSTONE_CACHE_DEF_H

#include <linux/kasan.h>
#include <linux/kfence.h>
#include <linux/reciprocal_div.h>

struct dry_cache;

struct kmem_cache {
	struct dry_cache *dry;
	unsigned int place; /* of its arrays: one for allocations and frees, for nobody samples them here */
	unsigned int size;  /* from one object to the next */
	slab_flags_t flags;
	gfp_t page_gfp;    /* of its slabs' pages */
	unsigned int num;  /* objects of a slab, */
	unsigned int num_single; /* and of one of a single page, where others have more; 0: there are none */
	struct reciprocal_value reciprocal;
	void (*ctor)(void *object);
	/* The kernel's own, common to all allocators. */
	const char *name;
	struct list_head list;
	int refcount;
	unsigned int object_size;
	unsigned int align;
	unsigned int inuse; /* 6.12's: as size, what an object has of its slab */
	unsigned int useroffset, usersize;
#ifdef CONFIG_KASAN
	struct kasan_cache kasan_info;
#endif
	struct kmem_cache_node *node[1]; /* 6.1's: for get_node(), which nobody calls */
};

/* What 6.12 calls, and 6.1 does not: caches have no folders in /sys. */
static inline void sysfs_slab_unlink(struct kmem_cache *s)
{
}

static inline void sysfs_slab_release(struct kmem_cache *s)
{
}

static inline int sysfs_slab_alias(struct kmem_cache *s, const char *name)
{
	return 0;
}

struct file;
struct seq_file;

/* slabinfo.c; 6.1 declares them itself */
ssize_t slabinfo_write(struct file *file, const char __user *buffer, size_t count, loff_t *ppos);
void slabinfo_show_stats(struct seq_file *m, struct kmem_cache *s);

static inline unsigned int dry_objects_of(const struct kmem_cache *cache, const struct slab *slab)
{
	return cache->num_single == 0 || folio_test_large((struct folio *)slab_folio(slab)) ? cache->num : cache->num_single;
}

/* Of any address in the slab, for a free asks before it is known whether that is an object: a vector's index in any case. */
static inline unsigned int obj_to_index(const struct kmem_cache *cache, const struct slab *slab, void *obj)
{
	u32 offset = (u32)(obj - slab_address(slab)) - slab->first;

	if (is_kfence_address(obj)) /* as if it were alone in a slab */
		return 0;
	return min(reciprocal_divide(offset, cache->reciprocal), dry_objects_of(cache, slab) - 1);
}

static inline void *nearest_obj(struct kmem_cache *cache, const struct slab *slab, void *x)
{
	unsigned int index = x < slab_address(slab) + slab->first ? 0 : obj_to_index(cache, slab, x);

	if (is_kfence_address(x))
		return kfence_object_start(x);
	return slab_address(slab) + slab->first + index * cache->size;
}

static inline int objs_per_slab(const struct kmem_cache *cache, const struct slab *slab)
{
	return is_kfence_address(slab_address(slab)) ? 1 : dry_objects_of(cache, slab);
}

#endif
