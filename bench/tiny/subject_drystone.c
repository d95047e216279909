/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Any implementation of drystone.h; SUBJECT_NAME says which one is linked. */
#include <drystone/drystone.h>

#include "subject.h"

static dry_heap *heap;

const char *subject_name(void)
{
	return SUBJECT_NAME;
}

bool subject_open(void *pool, size_t size)
{
	const struct dry_heap_attr attr = { .name = "pool", .memory = pool, .memory_size = size };

	if (heap)
		dry_heap_destroy(heap);
	heap = dry_heap_create(&attr);
	return heap != NULL;
}

bool subject_kind(struct kind *kind)
{
	const struct dry_cache_attr attr = {
		.name = kind->name, .size = kind->size, .align = kind->align, .ctor = kind->ctor
	};

	kind->cache = dry_cache_create(heap, &attr);
	return kind->cache != NULL;
}

void *subject_get(struct kind *kind)
{
	return dry_cache_alloc(kind->cache);
}

void subject_put(struct kind *kind, void *object)
{
	dry_cache_free(kind->cache, object);
}

void *subject_alloc(size_t size)
{
	return dry_alloc(heap, size);
}

void *subject_aligned(size_t align, size_t size)
{
	return dry_alloc_aligned(heap, align, size);
}

void *subject_resize(void *block, size_t old_size, size_t size)
{
	(void)old_size;
	return dry_realloc(heap, block, size);
}

void subject_free(void *block, size_t size)
{
	(void)size;
	dry_free(heap, block);
}

void subject_free_aligned(void *block, size_t align)
{
	(void)align;
	dry_free(heap, block);
}

size_t subject_in_use(void)
{
	struct dry_heap_stats stats;

	return dry_heap_stats(heap, &stats) ? 0 : stats.in_use + stats.extents;
}
