/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Of the kernel's mm/slab.h: what lies over a page, and what all allocators share. */
#ifndef DRY_TESTS_KERNEL_MM_SLAB_H
#define DRY_TESTS_KERNEL_MM_SLAB_H

#ifdef CONFIG_DRYSTONE
struct slab {
	unsigned long __page_flags;
#include "slab_fields.h"
	int refcount;
	unsigned long memcg_data;
};
#define OVER(page_member, slab_member) \
	static_assert(offsetof(struct page, page_member) == offsetof(struct slab, slab_member), #page_member)
OVER(compound_head, next);
OVER(mapping, bits);
OVER(refcount, refcount);
OVER(memcg_data, memcg_data);
static_assert(sizeof(struct slab) == sizeof(struct page), "a slab is a page");

#define page_slab(page)    ((struct slab *)(page))
#define slab_page(slab)    ((struct page *)(slab))
#define folio_slab(folio)  ((struct slab *)(folio))
#define slab_folio(slab)   ((struct folio *)(slab))
#define slab_address(slab) page_address((struct page *)(slab))
#define slab_order(slab)   folio_order((struct folio *)(slab))
#define slab_nid(slab)     page_to_nid((const struct page *)(slab))
static inline struct slab *virt_to_slab(const void *at)
{
	struct folio *folio = virt_to_folio(at);

	return folio_test_slab(folio) ? folio_slab(folio) : NULL;
}

struct reciprocal_value {
	u32 divisor;
};
#define reciprocal_value(n)     ((struct reciprocal_value){ n })
#define reciprocal_divide(a, r) ((a) / (r).divisor)

#include "cache_def.h"

#define account_slab(slab, order, s, gfp) (mock_slab_bytes += (long)(PAGE_SIZE << (order)))
#define unaccount_slab(slab, order, s)    (mock_slab_bytes -= (long)(PAGE_SIZE << (order)))
#define cache_from_obj(s, object)         (s)
#define memcg_slab_free_hook(s, slab, objects, n) mock_leaving(s, slab)
void mock_leaving(struct kmem_cache *s, const struct slab *slab);
void free_large_kmalloc(struct folio *folio, void *object);
void create_boot_cache(struct kmem_cache *s, const char *name, unsigned int size, slab_flags_t flags, unsigned int at,
		       unsigned int n);
void setup_kmalloc_cache_index_table(void);
void create_kmalloc_caches(slab_flags_t flags);
struct kmem_cache *find_mergeable(unsigned int size, unsigned int align, slab_flags_t flags, const char *name,
				  void (*ctor)(void *));
struct kmem_cache *__kmem_cache_alias(const char *name, unsigned int size, unsigned int align, slab_flags_t flags,
				      void (*ctor)(void *));
slab_flags_t kmem_cache_flags(unsigned int object_size, slab_flags_t flags, const char *name);
void *__kmem_cache_alloc_node(struct kmem_cache *s, gfp_t flags, int node, size_t orig_size, unsigned long caller);
void __kmem_cache_free(struct kmem_cache *s, void *object, unsigned long caller);
gfp_t kmalloc_fix_flags(gfp_t flags);

struct slabinfo {
	unsigned long active_objs, num_objs, active_slabs, num_slabs, shared_avail;
	unsigned int limit, batchcount, shared, objects_per_slab, cache_order;
};
void get_slabinfo(struct kmem_cache *s, struct slabinfo *sinfo);
void slabinfo_show_stats(struct seq_file *m, struct kmem_cache *s);
ssize_t slabinfo_write(struct file *file, const char *buffer, size_t count, loff_t *ppos);
#else
struct kmem_cache {
	unsigned int object_size, size, align;
	slab_flags_t flags;
	const char *name;
	int refcount;
	void (*ctor)(void *);
	struct list_head list;
};
#endif

enum slab_state { DOWN, PARTIAL, UP, FULL };
extern enum slab_state slab_state;
extern struct mutex slab_mutex;
extern struct list_head slab_caches;
extern struct kmem_cache *kmem_cache;
int __kmem_cache_create(struct kmem_cache *s, slab_flags_t flags);
int __kmem_cache_shutdown(struct kmem_cache *s);
void __kmem_cache_release(struct kmem_cache *s);
int __kmem_cache_shrink(struct kmem_cache *s);
bool __kmem_cache_empty(struct kmem_cache *s);

bool memcg_slab_pre_alloc_hook(struct kmem_cache *s, struct list_lru *lru, struct obj_cgroup **objcg, size_t size, gfp_t flags);
void slab_post_alloc_hook(struct kmem_cache *s, struct obj_cgroup *objcg, gfp_t flags, size_t size, void **p, bool init);
#define slab_want_init_on_alloc(flags, s) (((flags) & __GFP_ZERO) != 0)
#define slab_want_init_on_free(s)         false
#define want_init_on_alloc(flags)         (((flags) & __GFP_ZERO) != 0)

#endif
