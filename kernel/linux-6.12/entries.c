// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * What Linux 6.12 alone asks of an allocator in place of SLUB: general allocation, what memory control groups keep of a slab's
 * objects, and the names of SLUB's debugging that others use.
 */
#include <linux/cpuhotplug.h>
#include <linux/kasan.h>
#include <linux/kmemleak.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/vmstat.h>
#include <trace/events/kmem.h>

#include "mm/internal.h"

#include "slab/caches.h"
#include "slab/letters.h"

/* ---- general allocation ---- */

static void *large_alloc(size_t size, gfp_t flags, int node)
{
	unsigned int order = get_order(size);
	struct page *page;
	void *at;

	if (unlikely(flags & GFP_SLAB_BUG_MASK))
		flags = kmalloc_fix_flags(flags);
	/* Without a node by the task's policy. */
	page = node == NUMA_NO_NODE ? alloc_pages_noprof(flags | __GFP_COMP, order) :
				      alloc_pages_node_noprof(node, flags | __GFP_COMP, order);
	if (page == NULL)
		return NULL;
	lruvec_stat_mod_folio(page_folio(page), NR_SLAB_UNRECLAIMABLE_B, PAGE_SIZE << order);
	at = kasan_kmalloc_large(page_address(page), size, flags);
	kmemleak_alloc(at, size, 1, flags);
	return at;
}

void dry_free_large(struct folio *folio, void *object)
{
	unsigned int order = folio_order(folio);

	if (WARN_ON_ONCE(order == 0))
		pr_warn_once("drystone: %p is no object\n", object);
	kmemleak_free(object);
	kasan_kfree_large(object);
	lruvec_stat_mod_folio(folio, NR_SLAB_UNRECLAIMABLE_B, -(PAGE_SIZE << order));
	folio_put(folio);
}

static __always_inline void *general_alloc(size_t size, kmem_buckets *b, gfp_t flags, int node, unsigned long caller)
{
	struct kmem_cache *s;
	void *object;

	if (unlikely(size > KMALLOC_MAX_CACHE_SIZE)) {
		object = large_alloc(size, flags, node);
		trace_kmalloc(caller, object, size, PAGE_SIZE << get_order(size), flags, node);
		return object;
	}
	if (unlikely(size == 0))
		return ZERO_SIZE_PTR;
	s = kmalloc_slab(size, b, flags, caller);
	object = __kmem_cache_alloc_node(s, flags, node, size, 0);
	trace_kmalloc(caller, object, size, s->size, flags, node);
	return kasan_kmalloc(s, object, size, flags);
}

void *__kmalloc_noprof(size_t size, gfp_t flags)
{
	return general_alloc(size, NULL, flags, NUMA_NO_NODE, _RET_IP_);
}
EXPORT_SYMBOL(__kmalloc_noprof);

void *__kmalloc_node_noprof(DECL_BUCKET_PARAMS(size, b), gfp_t flags, int node)
{
	return general_alloc(size, PASS_BUCKET_PARAM(b), flags, node, _RET_IP_);
}
EXPORT_SYMBOL(__kmalloc_node_noprof);

void *__kmalloc_node_track_caller_noprof(DECL_BUCKET_PARAMS(size, b), gfp_t flags, int node, unsigned long caller)
{
	return general_alloc(size, PASS_BUCKET_PARAM(b), flags, node, caller);
}
EXPORT_SYMBOL(__kmalloc_node_track_caller_noprof);

void *__kmalloc_cache_noprof(struct kmem_cache *s, gfp_t flags, size_t size)
{
	void *object = __kmem_cache_alloc_node(s, flags, NUMA_NO_NODE, size, 0);

	trace_kmalloc(_RET_IP_, object, size, s->size, flags, NUMA_NO_NODE);
	return kasan_kmalloc(s, object, size, flags);
}
EXPORT_SYMBOL(__kmalloc_cache_noprof);

void *__kmalloc_cache_node_noprof(struct kmem_cache *s, gfp_t flags, int node, size_t size)
{
	void *object = __kmem_cache_alloc_node(s, flags, node, size, 0);

	trace_kmalloc(_RET_IP_, object, size, s->size, flags, node);
	return kasan_kmalloc(s, object, size, flags);
}
EXPORT_SYMBOL(__kmalloc_cache_node_noprof);

void *__kmalloc_large_noprof(size_t size, gfp_t flags)
{
	void *object = large_alloc(size, flags, NUMA_NO_NODE);

	trace_kmalloc(_RET_IP_, object, size, PAGE_SIZE << get_order(size), flags, NUMA_NO_NODE);
	return object;
}
EXPORT_SYMBOL(__kmalloc_large_noprof);

void *__kmalloc_large_node_noprof(size_t size, gfp_t flags, int node)
{
	void *object = large_alloc(size, flags, node);

	trace_kmalloc(_RET_IP_, object, size, PAGE_SIZE << get_order(size), flags, node);
	return object;
}
EXPORT_SYMBOL(__kmalloc_large_node_noprof);

void kfree(const void *at)
{
	struct folio *folio;

	trace_kfree(_RET_IP_, at);
	if (unlikely(ZERO_OR_NULL_PTR(at)))
		return;
	folio = virt_to_folio(at);
	if (likely(folio_test_slab(folio)))
		__kmem_cache_free(folio_slab(folio)->slab_cache, (void *)at, 0);
	else
		dry_free_large(folio, (void *)at);
}
EXPORT_SYMBOL(kfree);

/* ---- caches ---- */

int do_kmem_cache_create(struct kmem_cache *s, const char *name, unsigned int size, struct kmem_cache_args *args,
			 slab_flags_t flags)
{
	int error;

	flags = kmem_cache_flags(flags, name);
	s->name = name;
	s->size = s->object_size = size;
	/*
	 * Who looks for a cache to share (find_mergeable()) asks whether objects' sizes are multiples of an alignment, as if each
	 * slab began with an object. So the first one, before which there may be a colour, is at a multiple of what the size is one
	 * of. Debugged caches are not shared, but for those that are only looked at (F).
	 */
	if (!(flags & DRY_LETTERS_FLAGS & ~SLAB_CONSISTENCY_CHECKS))
		s->align = max(args->align, 1u << __ffs(ALIGN(size, args->align)));
	else
		s->align = args->align;
	s->ctor = args->ctor;
	s->useroffset = args->useroffset;
	s->usersize = args->usersize;
	error = dry_kernel_create(s, flags);
	s->inuse = s->dry != NULL && s->dry->debug != NULL ? s->object_size : s->size; /* which ksize() tells */
	return error;
}

void __kmem_cache_release(struct kmem_cache *s)
{
}

slab_flags_t kmem_cache_flags(slab_flags_t flags, const char *name)
{
	return dry_letters_flags(flags & ~SLAB_DEBUG_FLAGS, name);
}

static int prepare_cpu(unsigned int cpu)
{
	dry_kernel_prepare_cpu(cpu);
	return 0;
}

/* Before the other processors come. */
static int __init follow_processors(void)
{
	int state = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "mm/drystone:prepare", prepare_cpu, NULL);

	return state < 0 ? state : 0;
}
early_initcall(follow_processors);

/* ---- what memory control groups keep: a vector beside each slab with accounted objects, one entry an object ---- */

#ifdef CONFIG_SLAB_OBJ_EXT
int alloc_slab_obj_exts(struct slab *slab, struct kmem_cache *s, gfp_t gfp, bool new_slab)
{
	/* From a cache that has no such vectors, or there would be no end. */
	gfp_t plain = (gfp & ~(__GFP_DMA | __GFP_DMA32 | __GFP_RECLAIMABLE | __GFP_ACCOUNT | __GFP_NOFAIL)) | __GFP_NO_OBJ_EXT;
	void *exts = kcalloc_node(objs_per_slab(s, slab), sizeof(struct slabobj_ext), plain, slab_nid(slab));

	if (exts == NULL)
		return -ENOMEM;
	/* Who comes second uses the first one's. */
	if (cmpxchg(&slab->obj_exts, 0, (unsigned long)exts | MEMCG_DATA_OBJEXTS) != 0)
		kfree(exts);
	return 0;
}
#endif

void dry_free_slab_exts(struct slab *slab)
{
#ifdef CONFIG_SLAB_OBJ_EXT
	struct slabobj_ext *exts = slab_obj_exts(slab);

	slab->obj_exts = 0;
	kfree(exts);
#endif
}

/*
 * An object that was allocated unaccounted is the current group's from here on; false: that is beyond its limit. Such of kmalloc()
 * stay unaccounted, for vectors lie in them, which so have none themselves.
 */
bool kmem_cache_charge(void *object, gfp_t flags)
{
#ifdef CONFIG_MEMCG
	struct slab *slab = memcg_kmem_online() ? virt_to_slab(object) : NULL;
	const struct slabobj_ext *exts;

	if (slab == NULL || is_kmalloc_normal(slab->slab_cache))
		return true;
	exts = slab_obj_exts(slab);
	if (exts == NULL || exts[obj_to_index(slab->slab_cache, slab, object)].objcg == NULL)
		return __memcg_slab_post_alloc_hook(slab->slab_cache, NULL, flags, 1, &object);
#endif
	return true;
}
EXPORT_SYMBOL(kmem_cache_charge);

/* ---- names of SLUB's debugging; with its option the kernel has /proc/slabinfo ---- */

#ifdef CONFIG_SLUB_DEBUG
#if IS_ENABLED(CONFIG_KUNIT)
/* The tests of SLUB's own damage are not built. */
bool slab_in_kunit_test(void)
{
	return false;
}
#endif

#ifdef CONFIG_SLUB_DEBUG_ON
DEFINE_STATIC_KEY_TRUE(slub_debug_enabled);
#else
DEFINE_STATIC_KEY_FALSE(slub_debug_enabled);
#endif

void print_tracking(struct kmem_cache *s, void *object)
{
}

void skip_orig_size_check(struct kmem_cache *s, const void *object)
{
}

#ifdef CONFIG_DEBUG_FS
void debugfs_slab_release(struct kmem_cache *s)
{
}
#endif
#endif
