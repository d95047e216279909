/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* General allocation: the calls, over the blocks of blocks.c or sequential.c. */
#include "base/bits.h"
#include "base/error.h"
#include "base/memory.h"
#include "tiny/tiny.h"

static void *result(void *block)
{
	dry_tiny_unlock();
	if (block == NULL)
		dry_tiny_set_errno(DRY_ENOMEM);
	return block;
}

void *dry_alloc_aligned(dry_heap *handle, size_t align, size_t size)
{
	struct dry_heap *heap;

	if (!dry_is_pow2(align)) {
		dry_tiny_set_errno(DRY_EINVAL);
		return NULL;
	}
	dry_tiny_lock();
	heap = dry_tiny_heap(handle);
	return result(heap != NULL ? dry_tiny_alloc(heap, size, align) : NULL);
}

void *dry_alloc(dry_heap *heap, size_t size)
{
	return dry_alloc_aligned(heap, 1, size);
}

void *dry_zalloc(dry_heap *heap, size_t size)
{
	void *block = dry_alloc(heap, size);

	return block != NULL ? memset(block, 0, size) : NULL;
}

void dry_free(dry_heap *heap, void *block)
{
	if (block == NULL)
		return;
	dry_tiny_lock();
	heap = dry_tiny_heap(heap);
	if (heap != NULL)
		dry_tiny_free(heap, block);
	dry_tiny_unlock();
}

void *dry_realloc(dry_heap *handle, void *block, size_t size)
{
	struct dry_heap *heap;
	size_t usable;
	void *moved = NULL;

	if (block == NULL)
		return dry_alloc(handle, size);
	dry_tiny_lock();
	heap = dry_tiny_heap(handle);
	if (heap == NULL)
		return result(NULL);
	usable = dry_tiny_usable(heap, block);
	if (size <= usable && size > usable / 2)
		return result(block);
	if (usable != 0) {
		moved = dry_tiny_alloc(heap, size, 1);
		if (moved == NULL)
			return result(size <= usable ? block : NULL); /* less is had where it is */
		memcpy(moved, block, size < usable ? size : usable);
	}
	dry_tiny_free(heap, block); /* reports what is none */
	return result(moved);
}

size_t dry_usable_size(dry_heap *handle, const void *block)
{
	struct dry_heap *heap;
	size_t usable = 0;

	dry_tiny_lock();
	heap = dry_tiny_heap(handle);
	if (heap != NULL)
		usable = dry_tiny_usable(heap, block);
	dry_tiny_unlock();
	return usable;
}
