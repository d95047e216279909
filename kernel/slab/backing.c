// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Pages of slabs, in and out. */
#include <linux/kasan.h>
#include <linux/rcupdate.h>

#include "core/slab.h"
#include "slab/caches.h"

/* Percent of the objects that a page of a large slab has. */
#define GOOD 75

/*
 * Unlocked and not published: nobody knows the pages but their maker. Where a single page will do, a cache begins with four times
 * as many of them as a large slab has, for most caches never have more; where a large slab would have far more objects of so many
 * pages, with half as many. Then several are asked for of the node, at hand and in silence: a single one there is better than
 * several elsewhere. Where it will not do, the kernel does not promise to get more than two: never_fail().
 */
struct dry_slab *dry_backing_alloc(struct dry_backing *backing, unsigned order, unsigned single, unsigned node, dry_gfp gfp,
				   size_t slabs)
{
	const int nid = backing->nodes == 1 ? (int)dry_backing_node(backing) : (int)node; /* too many are one */
	const size_t first = single >= GOOD ? (size_t)4 << order : ((size_t)1 << order) / 2;
	gfp_t several = order > 1 ? gfp & ~__GFP_NOFAIL : gfp;
	struct page *page = NULL;

	if (single != 0)
		several = DRY_GFP_HERE(gfp);
	if (single == 0 || slabs >= first)
		page = alloc_pages_node(nid, several | __GFP_COMP, order);
	if (page == NULL && single != 0)
		page = alloc_pages_node(nid, gfp, 0);
	return page != NULL ? page_slab(page) : NULL;
}

/* KASAN knows a slab's objects from here on, all as free. */
static void hide_from_kasan(struct slab *slab)
{
	struct kmem_cache *s = slab->slab_cache;
	char *object = (char *)slab_address(slab) + slab->first;

	kasan_poison_slab(slab);
	for (u32 i = 0; i < dry_slab_num(s->dry, slab); i++, object += s->dry->size)
		object = kasan_init_slab_obj(s, object);
}

/*
 * The first word of bits lies over the page's mapping, which may look as that of a movable page does; new ones, with all objects
 * free, do not. Who looks for such pages (compaction) asks for a slab before it reads a mapping, and again afterwards. So what is
 * no slab yet, or no longer, must not be seen with such a mapping: pairs with the barriers of isolate_movable_page().
 */
void dry_backing_publish(struct dry_backing *backing, struct dry_slab *slab, uint32_t place)
{
	__folio_set_slab(slab_folio(slab));
	smp_wmb();
	dry_account_slab(slab, slab_order(slab), slab->slab_cache);
	if (IS_ENABLED(CONFIG_KASAN))
		hide_from_kasan(slab);
}

void dry_backing_free(struct dry_backing *backing, struct dry_slab *slab)
{
	struct folio *folio = slab_folio(slab);
	int order = folio_order(folio);

	folio->mapping = NULL;
	if (folio_test_slab(folio)) {
		dry_unaccount_slab(slab, order, slab->slab_cache);
		smp_wmb();
		__folio_clear_slab(folio);
	}
	dry_reset_page(slab);
	dry_account_reclaimed(order);
	__free_pages(folio_page(folio, 0), order);
}

struct dry_cache *dry_backing_cache_of(const struct dry_slab *slab)
{
	return slab->slab_cache->dry;
}

void dry_backing_set_cache(struct dry_slab *slab, struct dry_cache *cache)
{
	slab->slab_cache = cache->arg;
}

bool dry_backing_is_of(const struct dry_backing *backing, const void *ptr, uint32_t place)
{
	const struct dry_slab *slab = dry_backing_find(backing, ptr);

	return slab != NULL && slab->slab_cache->dry->place == place;
}

/* ---- slabs that go after a grace period ---- */

static_assert(sizeof(struct rcu_head) <= sizeof(((struct dry_grace_head *)0)->opaque));

static void graced(struct rcu_head *rcu)
{
	struct dry_grace_head *head = (struct dry_grace_head *)rcu;

	head->func(head);
}

static void call(void *unused, struct dry_grace_head *head, void (*func)(struct dry_grace_head *))
{
	head->func = func;
	call_rcu((struct rcu_head *)head->opaque, graced);
}

static void barrier_of_grace(void *unused)
{
	rcu_barrier();
}

const struct dry_grace dry_kernel_grace = { .call = call, .barrier = barrier_of_grace };
