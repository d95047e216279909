/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Heaps: laid into memory, enlarged by pools, given up. */
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "tiny/pages.h"

/* The least that a heap works in: itself and a few pages. */
enum { POOL_MIN = 2048 };

static struct dry_heap *main_heap;
static const struct dry_heap_attr defaults;

/* The smallest page of which memory of a size has no more than a map can number; no less than asked for. */
static uint8_t shift_for(size_t size, size_t page_size)
{
	uint8_t shift = DRY_TINY_PAGE_SHIFT;

	while ((size_t)1 << shift < page_size || (page_size == 0 && shift < 16 && size >> shift > DRY_TINY_MAX_PAGES))
		shift++;
	return shift;
}

/* Lays further pools into memory, as many as it takes: one has no more than DRY_TINY_MAX_PAGES. */
static int add_pools(struct dry_heap *heap, char *memory, size_t size)
{
	struct dry_pool **end = &heap->pool.next;
	unsigned pools = 1;
	int status = -DRY_ENOMEM;

	for (; *end != NULL; end = &(*end)->next)
		pools++;
	for (; pools < DRY_TINY_POOLS; pools++) {
		size_t skip = -(uintptr_t)memory & (DRY_TINY_UNIT - 1);
		struct dry_pool *pool = (struct dry_pool *)(void *)(memory + skip);

		if (size < POOL_MIN || !dry_pool_init(heap, pool, (char *)(pool + 1), memory + size))
			return status == 0 ? 0 : -DRY_EINVAL;
		status = 0;
		*end = pool;
		end = &pool->next;
		dry_pool_open(heap, pool);
		size -= pool->base + pool->bytes - (uintptr_t)memory;
		memory = (char *)(pool->base + pool->bytes);
	}
	return status;
}

static struct dry_heap *lay_out(char *memory, size_t size, size_t page_size)
{
	uint8_t shift = shift_for(size, page_size);
	struct dry_heap *heap = (struct dry_heap *)(void *)(memory + (-(uintptr_t)memory & (DRY_TINY_UNIT - 1)));
	char *behind = (char *)(heap->kept + dry_tiny_kept(shift)), *end = memory + size;

	if (behind >= end)
		return NULL;
	memset(heap, 0, (size_t)(behind - (char *)heap));
	heap->shift = shift;
	if (!dry_pool_init(heap, &heap->pool, behind, end))
		return NULL;
	dry_pool_open(heap, &heap->pool);
	behind = (char *)(heap->pool.base + heap->pool.bytes);
	add_pools(heap, behind, (size_t)(end - behind));
	dry_tiny_class_init(&heap->classes_of, heap, sizeof(struct dry_class), dry_log2_size(sizeof(void *)), NULL);
	dry_tiny_class_add(&heap->classes_of, &heap->classes_of, DRY_CLASS_OWN | DRY_CLASS_KEPT);
	return heap;
}

static struct dry_heap *create(const struct dry_heap_attr *attr)
{
	char *memory = attr->memory;
	size_t size = attr->memory_size, page_size = attr->page_size;
	struct dry_heap *heap;

	if (attr->limit != 0 && (memory == NULL || attr->limit < size))
		size = attr->limit;
	if (memory != NULL)
		return lay_out(memory, size, page_size);
	memory = dry_tiny_map(&size);
	if (memory == NULL)
		return NULL;
	heap = lay_out(memory, size, page_size != 0 ? page_size : dry_tiny_system_page());
	if (heap != NULL)
		heap->system = true;
	else
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
		status = add_pools(heap, memory, size);
	dry_tiny_unlock();
	return status;
}

int dry_heap_destroy(dry_heap *heap)
{
	if (heap == NULL || heap == main_heap)
		return -DRY_EINVAL;
	dry_tiny_lock();
	if (heap->system)
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
