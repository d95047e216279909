// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Memory for metadata: arrays, depots, caches. Never from a cache, so that no lock meets itself, and away from objects. Pieces of
 * 64 bytes and multiples from lists, which keep what comes back; from half a page on, pages. All of it is in `Slab:`, as is
 * that of the kernel's own allocators, which have it from kmalloc().
 *
 * Core asks for it with locks held, so nothing is waited for. And in frees: nor is whoever makes pages free woken, which takes the
 * scheduler's locks; nor is a reserve used up, for who makes pages free frees objects, and can do without depots. Who may sleep,
 * and needs it, provides it first.
 */
#include <linux/mm.h>
#include <linux/vmstat.h>

#include "slab/caches.h"

#define UNIT   64
#define PIECES (PAGE_SIZE / 2)

struct piece {
	struct piece *next;
};

struct provided {
	struct provided *next;
	size_t bytes;
};

static DEFINE_SPINLOCK(lock);
static struct piece *pieces[PIECES / UNIT]; /* by units; guarded by lock */
static struct provided *provided;	    /* of many pages, not to be had together again: one of a size at most; likewise */
static atomic_long_t pages;

size_t dry_kernel_meta_bytes(void)
{
	return (size_t)atomic_long_read(&pages) << PAGE_SHIFT;
}

static void account(const void *at, long by)
{
	atomic_long_add(by, &pages);
	mod_node_page_state(page_pgdat(virt_to_page(at)), NR_SLAB_UNRECLAIMABLE_B, by * (long)PAGE_SIZE);
}

/* As alloc_pages_exact(), but of a node, if it has some. */
static void *get_pages(size_t bytes, gfp_t gfp, int nid)
{
	const unsigned int order = get_order(bytes), count = PAGE_ALIGN(bytes) >> PAGE_SHIFT;
	struct page *page = alloc_pages_node(nid, gfp | __GFP_ZERO | __GFP_NOWARN, order);

	if (page == NULL)
		return NULL;
	split_page(page, order);
	for (unsigned int i = count; i < 1u << order; i++)
		__free_page(page + i);
	account(page_address(page), count);
	return page_address(page);
}

static struct piece *take(unsigned int list)
{
	struct piece *piece;
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	piece = pieces[list];
	if (piece != NULL)
		pieces[list] = piece->next;
	spin_unlock_irqrestore(&lock, flags);
	return piece;
}

static void give(unsigned int list, struct piece *piece)
{
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	piece->next = pieces[list];
	pieces[list] = piece;
	spin_unlock_irqrestore(&lock, flags);
}

static struct provided *take_provided(size_t bytes)
{
	struct provided **at, *found;
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	for (at = &provided; (found = *at) != NULL && found->bytes != bytes; at = &found->next)
		;
	if (found != NULL)
		*at = found->next;
	spin_unlock_irqrestore(&lock, flags);
	return found != NULL ? memset(found, 0, sizeof(*found)) : NULL;
}

static void keep_provided(struct provided *one, size_t bytes)
{
	unsigned long flags;

	one->bytes = bytes;
	spin_lock_irqsave(&lock, flags);
	one->next = provided;
	provided = one;
	spin_unlock_irqrestore(&lock, flags);
}

/* nid: whose memory it is if there is none yet. */
static void *get(size_t bytes, gfp_t gfp, int nid)
{
	unsigned int units = DIV_ROUND_UP(bytes, UNIT);
	struct piece *piece;
	char *page;

	if (bytes > PIECES) {
		struct provided *found = take_provided(bytes);
		return found != NULL ? found : get_pages(bytes, gfp, nid);
	}
	piece = take(units - 1);
	if (piece != NULL)
		return memset(piece, 0, units * UNIT);
	page = get_pages(PAGE_SIZE, gfp, nid);
	if (page == NULL)
		return NULL;
	for (size_t at = units * UNIT; at + units * UNIT <= PAGE_SIZE; at += units * UNIT)
		give(units - 1, (struct piece *)(page + at));
	return page;
}

void *dry_backing_meta_alloc(struct dry_backing *backing, size_t bytes)
{
	return get(bytes, __GFP_NOMEMALLOC, NUMA_NO_NODE);
}

bool dry_kernel_meta_provide(size_t bytes, int nid)
{
	void *at = get(bytes, GFP_KERNEL, nid);

	if (at == NULL)
		return false;
	if (bytes > PIECES)
		keep_provided(at, bytes);
	else
		dry_backing_meta_free(NULL, at, bytes);
	return true;
}

void dry_backing_meta_free(struct dry_backing *backing, void *at, size_t bytes)
{
	if (bytes <= PIECES) {
		give(DIV_ROUND_UP(bytes, UNIT) - 1, at);
		return;
	}
	account(at, -(long)(PAGE_ALIGN(bytes) >> PAGE_SHIFT));
	free_pages_exact(at, bytes);
}
