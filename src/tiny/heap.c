/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Heaps: laid into memory, enlarged by pools, given up. */
#include "base/bits.h"
#include "base/error.h"
#include "base/memory.h"
#include "tiny/pages.h"

/* The least that a heap works in: itself and a few pages. */
enum { POOL_MIN = 2048 };

static struct dry_heap *main_heap;
static struct dry_heap_attr defaults; /* never written: zeros cost no text in .bss */

/* As many pools as it takes: one has no more than DRY_TINY_MAX_PAGES. */
static DRY_NOINLINE int add_pools(struct dry_heap *heap, char *memory, char *end)
{
	unsigned before = heap->pool.pools;

	while (heap->pool.pools < DRY_TINY_POOLS && (memory = dry_pool_add(heap, memory, end)) != NULL)
		;
	/* of memory up to the last address, a pool's end is NULL, too */
	return heap->pool.pools != before ? 0 : -DRY_ENOMEM;
}

static struct dry_heap *lay_out(char *memory, size_t size, size_t page_size)
{
	struct dry_heap *heap = (struct dry_heap *)(void *)(memory + (-(uintptr_t)memory & (DRY_TINY_UNIT - 1)));
	unsigned shift = DRY_TINY_PAGE_SHIFT;
	char *behind;

	/* the smallest page of which the memory has no more than a map can number; no less than asked for */
	while (page_size >> shift > 1 || (page_size == 0 && shift < 16 && size >> shift > DRY_TINY_MAX_PAGES))
		shift++;
	behind = (char *)(heap->kept + dry_tiny_kept(shift));
	if ((size_t)(behind - memory) >= size) /* memory + size is NULL, where that is all up to the last address */
		return NULL;
	memset(heap, 0, (size_t)(behind - (char *)heap));
	heap->pool.shift = (uint8_t)shift;
	dry_link_init(&heap->caches);
	dry_tiny_class_init(&heap->classes_of, heap, sizeof(struct dry_class), sizeof(void *), NULL);
	heap->classes_of.flags = DRY_CLASS_OWN | DRY_CLASS_KEPT;
	return add_pools(heap, behind, memory + size) == 0 ? heap : NULL;
}

static struct dry_heap *create(const struct dry_heap_attr *attr)
{
	char *memory = attr->memory;
	size_t size = attr->memory_size, page_size = attr->page_size;
	bool system = memory == NULL;
	struct dry_heap *heap;

	if (attr->limit - 1 < size - 1) /* 0: none */
		size = attr->limit;
	if (system) {
		memory = dry_tiny_map(&size);
		if (memory == NULL)
			return NULL;
		if (page_size == 0)
			page_size = dry_tiny_system_page();
	}
	heap = lay_out(memory, size, page_size);
	if (heap != NULL)
		heap->pool.system = system;
	else if (system)
		dry_tiny_unmap(memory);
	return heap;
}

dry_heap *dry_heap_create(const struct dry_heap_attr *attr)
{
	struct dry_heap *heap;
	size_t page;

	if (attr == NULL)
		attr = &defaults;
	page = attr->page_size;
	if ((page & (page - 1)) != 0 || (page & ~(size_t)(4096 | 16384 | 65536)) != 0 || attr->nodes > 8 ||
	    (attr->memory != NULL && attr->memory_size < POOL_MIN)) {
		dry_tiny_set_errno(DRY_EINVAL);
		return NULL;
	}
	dry_tiny_lock();
	heap = create(attr);
	dry_tiny_unlock();
	if (heap == NULL)
		dry_tiny_set_errno(DRY_ENOMEM);
	return heap;
}

int dry_heap_add(dry_heap *heap, void *memory, size_t size)
{
	int status = -DRY_ENOMEM;

	dry_tiny_lock();
	heap = dry_tiny_heap(heap);
	if (heap != NULL)
		status = memory == NULL || size < POOL_MIN ? -DRY_EINVAL : add_pools(heap, memory, (char *)memory + size);
	dry_tiny_unlock();
	return status;
}

int dry_heap_destroy(dry_heap *heap)
{
	if (heap == NULL || heap == main_heap)
		return -DRY_EINVAL;
	dry_tiny_lock();
	if (heap->pool.system)
		dry_tiny_unmap(heap);
	dry_tiny_unlock();
	return 0;
}

struct dry_heap *dry_tiny_heap(struct dry_heap *heap)
{
	if (heap == NULL && (heap = main_heap) == NULL)
		heap = main_heap = create(&defaults);
	return heap;
}

dry_heap *dry_heap_default(void)
{
	dry_tiny_lock();
	dry_heap *heap = dry_tiny_heap(NULL);
	dry_tiny_unlock();
	return heap;
}

size_t dry_heap_trim(dry_heap *heap)
{
	dry_tiny_lock();
	heap = dry_tiny_heap(heap);
	if (heap != NULL)
		dry_tiny_spares_free(heap);
	dry_tiny_unlock();
	return 0; /* nothing goes back to where it came from before the heap is destroyed */
}

void dry_heap_reap(dry_heap *heap)
{
	dry_heap_trim(heap);
}
