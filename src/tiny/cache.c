/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Caches: names of classes. Like ones share a class, also with general allocation. */
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/fatal.h"
#include "tiny/tiny.h"

enum {
	NAME_MOST = 63,
	SIZE_MOST = 4194304,
	ALIGN_MOST = 65536,
	LIMIT_MOST = 512,
	LINE = 64, /* of DRY_CACHE_HWALIGN */
};

/* What can be asked for; a management type other than a chain through free objects cannot. */
#define FLAGS_KNOWN (DRY_CACHE_HWALIGN | DRY_CACHE_NO_MERGE)

static bool valid(const struct dry_cache_attr *attr)
{
	unsigned type = attr->flags & DRY_CACHE_TYPE_MASK;

	return attr->name != NULL && attr->name[0] != '\0' && attr->size - 1 < SIZE_MOST && attr->align <= ALIGN_MOST &&
	       (attr->align & (attr->align - 1)) == 0 && attr->limit <= LIMIT_MOST &&
	       (attr->flags & ~(FLAGS_KNOWN | DRY_CACHE_TYPE_MASK)) == 0 &&
	       (type == 0 || (type == DRY_CACHE_CHAIN && attr->ctor == NULL));
}

/* A class for objects like these: one that there is, or a new one. */
static struct dry_class *class_for(struct dry_heap *heap, const struct dry_cache_attr *attr, size_t align)
{
	bool merge = (attr->flags & ~DRY_CACHE_HWALIGN) == 0 && attr->ctor == NULL;
	struct dry_class *made = dry_tiny_object_alloc(&heap->classes_of), *class;

	if (made == NULL)
		return NULL;
	dry_tiny_class_init(made, heap, attr->size, align, attr->ctor, merge ? 0 : DRY_CACHE_NO_MERGE);
	if (!merge)
		return made;
	for (class = made->older; class != NULL; class = class->older) {
		if (class->slot != made->slot || class->align % made->align != 0 || class->flags != 0)
			continue;
		heap->classes = made->older;
		dry_tiny_object_free(heap, &heap->classes_of, made);
		return class;
	}
	return made;
}

/* The last name of a class is gone. Classes of general allocation stay. */
static void class_drop(struct dry_class *class)
{
	struct dry_heap *heap = class->heap;
	struct dry_class **link = &heap->classes;

	heap->caches--;
	if (class->general)
		return;
	dry_tiny_class_shrink(class);
	while (*link != class)
		link = &(*link)->older;
	*link = class->older;
	dry_tiny_object_free(heap, &heap->classes_of, class);
}

static size_t name_length(const char *name)
{
	size_t length = 0;

	while (length < NAME_MOST && name[length] != '\0')
		length++;
	return length;
}

static struct dry_cache *create(struct dry_heap *heap, const struct dry_cache_attr *attr)
{
	size_t align = attr->align, length = name_length(attr->name);
	struct dry_cache *cache = dry_tiny_alloc(heap, sizeof(*cache) + length + 1, 1), **end = &heap->names;

	if (cache == NULL)
		return NULL;
	if (align == 0)
		align = attr->size % 16 == 0 ? 16 : 8;
	if ((attr->flags & DRY_CACHE_HWALIGN) != 0 && align < LINE)
		align = LINE;
	cache->class = class_for(heap, attr, align);
	if (cache->class == NULL) {
		dry_tiny_free(heap, cache);
		return NULL;
	}
	heap->caches += cache->class->names++ == 0;
	cache->next = NULL;
	cache->size = (uint32_t)attr->size;
	cache->align = (uint32_t)align;
	cache->flags = attr->flags;
	memcpy(cache->name, attr->name, length);
	cache->name[length] = '\0';
	while (*end != NULL)
		end = &(*end)->next;
	*end = cache;
	return cache;
}

dry_cache *dry_cache_create(dry_heap *heap, const struct dry_cache_attr *attr)
{
	struct dry_cache *cache;

	if (!valid(attr)) {
		dry_tiny_set_errno(DRY_EINVAL);
		return NULL;
	}
	dry_tiny_lock();
	heap = dry_tiny_heap(heap);
	cache = heap != NULL ? create(heap, attr) : NULL;
	dry_tiny_unlock();
	if (cache == NULL)
		dry_tiny_set_errno(DRY_ENOMEM);
	return cache;
}

static int destroy(struct dry_cache *cache)
{
	struct dry_class *class = cache->class;
	struct dry_heap *heap = class->heap;
	struct dry_cache **link = &heap->names;

	if (heap == NULL) {
		dry_fatal(DRY_FATAL_DEAD_CACHE, cache, NULL, "destroy");
		return 0;
	}
	if (class->names == 1 && !class->general && class->allocs != class->frees) {
		dry_tiny_leak(cache->name, class->allocs - class->frees);
		return -DRY_EBUSY;
	}
	while (*link != cache)
		link = &(*link)->next;
	*link = cache->next;
	if (--class->names == 0)
		class_drop(class);
	/* what the memory says until it is used again */
	cache->class = (struct dry_class *)(uintptr_t)&dry_tiny_dead;
	dry_tiny_free(heap, cache);
	return 0;
}

int dry_cache_destroy(dry_cache *cache)
{
	int status = 0;

	if (cache == NULL)
		return 0;
	dry_tiny_lock();
	status = destroy(cache);
	dry_tiny_unlock();
	return status;
}

void *dry_cache_zalloc(dry_cache *cache)
{
	void *object;

	if (cache->class->ctor != NULL) {
		dry_tiny_set_errno(DRY_EINVAL);
		return NULL;
	}
	object = dry_cache_alloc(cache);
	return object != NULL ? memset(object, 0, cache->size) : NULL;
}

void dry_cache_free_bulk(dry_cache *cache, size_t n, void **objects)
{
	while (n-- != 0)
		dry_cache_free(cache, objects[n]);
}

size_t dry_cache_alloc_bulk(dry_cache *cache, size_t n, void **objects)
{
	for (size_t i = 0; i < n; i++) {
		objects[i] = dry_cache_alloc(cache);
		if (objects[i] == NULL) {
			dry_cache_free_bulk(cache, i, objects);
			return 0;
		}
	}
	return n;
}

int dry_cache_prefill(dry_cache *cache, size_t n)
{
	bool done;

	dry_tiny_lock();
	done = dry_tiny_class_reserve(cache->class, n);
	dry_tiny_unlock();
	return done ? 0 : -DRY_ENOMEM;
}

size_t dry_cache_shrink(dry_cache *cache)
{
	size_t slabs;

	dry_tiny_lock();
	slabs = dry_tiny_class_shrink(cache->class);
	dry_tiny_unlock();
	return slabs;
}
