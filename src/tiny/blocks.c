/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * General allocation: classes in graded sizes below 4 pages; above, and where a class is a number of whole pages
 * anyway, runs of pages.
 */
#include "base/bits.h"
#include "tiny/pages.h"

/* Up to 2^(STEPS + 1) units by one unit, then 2^STEPS sizes in each doubling. */
enum { STEPS = 2 };

static unsigned index_of(size_t size)
{
	size_t units = (size - 1) / DRY_TINY_UNIT;
	unsigned shift = units >> (STEPS + 1) ? dry_log2_size(units) - STEPS : 0;

	return (unsigned)((size_t)shift << STEPS) + (unsigned)(units >> shift);
}

static size_t size_of(unsigned index)
{
	unsigned shift = index >> (STEPS + 1) ? (index >> STEPS) - 1 : 0;

	return ((index - ((size_t)shift << STEPS) + 1) << shift) * DRY_TINY_UNIT;
}

size_t dry_tiny_class_size(size_t size)
{
	return size_of(index_of(size));
}

unsigned dry_tiny_kept(unsigned shift)
{
	return index_of((size_t)4 << shift);
}

static void *block_alloc(struct dry_heap *heap, unsigned index, size_t size)
{
	struct dry_class *class = heap->kept[index];

	if (class == NULL) {
		class = dry_tiny_object_alloc(&heap->classes_of);
		if (class == NULL)
			return NULL;
		heap->kept[index] = class;
		dry_tiny_class_init(class, heap, size, (size & (size - 1)) == 0 ? size : DRY_TINY_UNIT, NULL);
		class->flags = DRY_CLASS_KEPT;
	}
	return dry_tiny_object_alloc(class);
}

void *dry_tiny_alloc(struct dry_heap *heap, size_t size, size_t align)
{
	const size_t page = (size_t)1 << heap->pool.shift;
	void *block;

	size += size == 0;
	if (align > DRY_TINY_UNIT && align <= page && size <= page) {
		/* classes that are a power of two are aligned to it */
		size = (size_t)2 << dry_log2_size((size > align ? size : align) - 1);
		align = 1;
	}
	if (align <= DRY_TINY_UNIT) {
		if (size < page * 4) {
			unsigned index = index_of(size);
			size_t slot = size_of(index);

			if ((slot & (page - 1)) != 0)
				return block_alloc(heap, index, slot);
		}
		if (size <= 4096 && (size & (size - 1)) == 0)
			align = size;
	}
	size = dry_pages_for(heap, size);
	block = dry_pages_alloc(heap, size, align);
	if (block == NULL) {
		dry_tiny_spares_free(heap);
		block = dry_pages_alloc(heap, size, align);
	}
	return block;
}

/* Pages of the big block that starts at an address; 0 if none does. */
static size_t block_pages(const struct dry_heap *heap, const void *block)
{
	const uint16_t *entry = dry_map_of(heap, block);

	if (entry == NULL || ((uintptr_t)block & (((size_t)1 << heap->pool.shift) - 1)) != 0)
		return 0;
	return dry_map_block(*entry);
}

void dry_tiny_free(struct dry_heap *heap, void *block)
{
	struct dry_slab *slab = dry_map_slab(heap, block);
	struct dry_owner owner;
	size_t pages;

	owner.heap = heap;
	owner.class = NULL;
	if (slab != NULL) {
		owner.class = slab->class;
	} else if ((pages = block_pages(heap, block)) != 0) {
		dry_pages_free(heap, block, pages);
		return;
	}
	dry_tiny_object_free(&owner, block);
}

size_t dry_tiny_usable(struct dry_heap *heap, const void *block)
{
	const struct dry_slab *slab = dry_map_slab(heap, block);

	return slab != NULL ? dry_tiny_object_size(slab, block) : block_pages(heap, block) << heap->pool.shift;
}
