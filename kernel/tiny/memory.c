// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "memory.h"

#include <linux/memblock.h>
#include <linux/mm.h>
#include <linux/spinlock.h>
#include <linux/swap.h>
#include <linux/vmstat.h>

struct dry_heap *dry_kernel_heap;

static DEFINE_SPINLOCK(lock);
static unsigned long lock_flags; /* of who holds it */

/* Pages that somebody got for a run to come; guarded by lock. */
static struct page *offered;
static unsigned int offered_order;

void dry_tiny_lock(void)
{
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	lock_flags = flags;
}

void dry_tiny_unlock(void)
{
	spin_unlock_irqrestore(&lock, lock_flags);
}

/* ---- runs ---- */

/* Of the pages, those from `pages` on are not needed. */
static void trim(struct page *page, unsigned int order, size_t pages)
{
	split_page(page, order);
	for (size_t i = pages; i < 1ul << order; i++)
		__free_page(page + i);
}

static struct page *take_pages(unsigned int order)
{
	struct page *page = offered;

	if (page != NULL && offered_order == order) {
		offered = NULL;
		return page;
	}
	return alloc_pages(__GFP_NOWARN, order); /* kswapd is not woken under our lock: who offers pages does */
}

static void account(struct page *page, long pages)
{
	mod_node_page_state(page_pgdat(page), NR_SLAB_UNRECLAIMABLE_B, pages * (long)PAGE_SIZE);
}

/* Pages of an order are aligned to their size. */
void *dry_pages_alloc(struct dry_heap *heap, size_t pages, size_t align)
{
	unsigned int order = max(get_order(pages << PAGE_SHIFT), get_order(align));
	struct page *page = order < MAX_ORDER ? take_pages(order) : NULL;
	void *run;

	if (page == NULL)
		return NULL;
	trim(page, order, pages);
	for (size_t i = 0; i < pages; i++)
		__SetPageSlab(page + i);
	account(page, pages);
	run = page_address(page);
	*dry_map_of(heap, run) = DRY_MAP_BLOCK + pages;
	return run;
}

/* What lies behind a run is the kernel's to give to others. */
bool dry_pages_extend(struct dry_heap *heap, void *run, size_t pages, size_t more)
{
	return false;
}

void dry_pages_free(struct dry_heap *heap, void *run, size_t pages)
{
	struct page *page = virt_to_page(run);

	*dry_map_of(heap, run) = DRY_MAP_NONE;
	account(page, -(long)pages);
	for (size_t i = 0; i < pages; i++) {
		__ClearPageSlab(page + i);
		__free_page(page + i);
	}
	if (current->reclaim_state)
		current->reclaim_state->reclaimed_slab += pages;
}

bool dry_kernel_offer(gfp_t gfp, unsigned int order)
{
	struct page *page = alloc_pages(gfp & ~(__GFP_ZERO | __GFP_COMP), order);
	struct page *old;
	unsigned int old_order;

	if (page == NULL)
		return false;
	dry_tiny_lock();
	old = offered;
	old_order = offered_order;
	offered = page;
	offered_order = order;
	dry_tiny_unlock();
	if (old != NULL)
		__free_pages(old, old_order);
	return true;
}

void dry_kernel_withdraw(void)
{
	struct page *page;
	unsigned int order;

	dry_tiny_lock();
	page = offered;
	order = offered_order;
	offered = NULL;
	dry_tiny_unlock();
	if (page != NULL)
		__free_pages(page, order);
}

/* ---- the heap ---- */

/* The size of what stands at the heap's end. */
static size_t heap_bytes(void)
{
	return sizeof(struct dry_heap) + dry_tiny_kept(PAGE_SHIFT) * sizeof(void *);
}

/* There is one. */
struct dry_heap *dry_tiny_heap(struct dry_heap *heap)
{
	return dry_kernel_heap;
}

/* The end of what has an address. UML's max_pfn is the number of its pages, not the last one's. */
static unsigned long __init end_of_memory(void)
{
	return IS_ENABLED(CONFIG_HIGHMEM) ? max_low_pfn : PFN_UP(memblock_end_of_DRAM());
}

/* The pool is the kernel's own map of memory, from its first page to its last; the map has an entry more at either end. */
void __init dry_kernel_heap_init(void)
{
	unsigned long pages = end_of_memory() - min_low_pfn;
	uint16_t *map = alloc_pages_exact((pages + 2) * sizeof(*map), GFP_NOWAIT);
	struct dry_heap *heap = alloc_pages_exact(heap_bytes(), GFP_NOWAIT | __GFP_ZERO);

	if (map == NULL || heap == NULL)
		panic("drystone: no memory for the map of its pages: two bytes for each of %lu, side by side", pages);
	memset(map, DRY_MAP_NONE & 0xff, (pages + 2) * sizeof(*map));
	heap->pool.shift = PAGE_SHIFT;
	heap->pool.pools = 1;
	heap->pool.base = (uintptr_t)__va(PFN_PHYS(min_low_pfn));
	heap->pool.bytes = pages << PAGE_SHIFT;
	heap->pool.map = (uintptr_t)(map + 1) - (heap->pool.base >> PAGE_SHIFT) * sizeof(*map);
	dry_link_init(&heap->caches);
	dry_tiny_class_init(&heap->classes_of, heap, sizeof(struct dry_class), sizeof(void *), NULL);
	heap->classes_of.flags = DRY_CLASS_OWN | DRY_CLASS_KEPT;
	dry_kernel_heap = heap;
}
