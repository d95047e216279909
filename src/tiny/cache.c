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

const char *dry_tiny_class_name(const struct dry_class *class)
{
	const struct dry_cache *cache = class->heap->names;

	while (cache != NULL && cache->class != class)
		cache = cache->next;
	return cache != NULL ? cache->name : "kmalloc";
}

/* No management type can be chosen: there is one. */
static bool valid(const struct dry_cache_attr *attr)
{
	return attr->name != NULL && attr->name[0] != '\0' && attr->size - 1 < SIZE_MOST && attr->align <= ALIGN_MOST &&
	       (attr->align & (attr->align - 1)) == 0 && attr->limit <= LIMIT_MOST &&
	       (attr->flags & ~(DRY_CACHE_HWALIGN | DRY_CACHE_NO_MERGE)) == 0;
}

static size_t align_of(const struct dry_cache_attr *attr)
{
	size_t align = attr->align != 0 ? attr->align : attr->size % 16 == 0 ? 16 : 8;

	return (attr->flags & DRY_CACHE_HWALIGN) != 0 && align < LINE ? LINE : align;
}

/* A class for objects like these: one that there is, or a new one. */
static struct dry_class *class_for(struct dry_heap *heap, const struct dry_cache_attr *attr)
{
	bool own = (attr->flags & DRY_CACHE_NO_MERGE) != 0 || attr->ctor != NULL;
	struct dry_class layout, *class;

	dry_tiny_class_init(&layout, heap, attr->size, dry_log2_size(align_of(attr)), attr->ctor);
	for (class = heap->classes; class != NULL; class = class->older)
		if (!own && class->slot == layout.slot && class->align_log2 >= layout.align_log2 &&
		    (class->flags & DRY_CLASS_OWN) == 0)
			return class;
	class = dry_tiny_object_alloc(&heap->classes_of);
	if (class != NULL)
		dry_tiny_class_add(class, &layout, own);
	return class;
}

static struct dry_cache *create(struct dry_heap *heap, const struct dry_cache_attr *attr)
{
	size_t length = 0;
	struct dry_cache *cache, **end = &heap->names;

	while (length < NAME_MOST && attr->name[length] != '\0')
		length++;
	cache = dry_tiny_alloc(heap, sizeof(*cache) + length + 1, 1);
	if (cache == NULL)
		return NULL;
	cache->class = class_for(heap, attr);
	if (cache->class == NULL) {
		dry_tiny_free(heap, cache);
		return NULL;
	}
	cache->class->names++;
	cache->heap = heap;
	cache->next = NULL;
	cache->size = (uint32_t)attr->size;
	cache->flags = (uint8_t)attr->flags;
	memcpy(cache->name, attr->name, length);
	cache->name[length] = '\0';
	while (*end != NULL)
		end = &(*end)->next;
	return *end = cache;
}

dry_cache *dry_cache_create(dry_heap *heap, const struct dry_cache_attr *attr)
{
	struct dry_cache *cache = NULL;

	if (!valid(attr)) {
		dry_tiny_set_errno(DRY_EINVAL);
		return NULL;
	}
	dry_tiny_lock();
	heap = dry_tiny_heap(heap);
	if (heap != NULL)
		cache = create(heap, attr);
	dry_tiny_unlock();
	if (cache == NULL)
		dry_tiny_set_errno(DRY_ENOMEM);
	return cache;
}

/* The class's last name goes; false if it has objects out. Classes of general allocation stay. */
static bool class_drop(struct dry_class *class, const char *name)
{
	struct dry_class **link = &class->heap->classes;
	size_t used;

	if ((class->flags & DRY_CLASS_KEPT) != 0)
		return true;
	dry_tiny_class_shrink(class);
	used = dry_tiny_class_used(class);
	if (used != 0) {
		dry_tiny_leak(name, used);
		return false;
	}
	while (*link != class)
		link = &(*link)->older;
	*link = class->older;
	dry_tiny_object_free(class->heap, &class->heap->classes_of, class);
	return true;
}

static int destroy(struct dry_cache *cache)
{
	struct dry_class *class = cache->class;
	struct dry_cache **link = &cache->heap->names;

	if (class == &dry_tiny_dead) {
		dry_fatal(DRY_FATAL_DEAD_CACHE, cache, NULL, NULL);
		return 0;
	}
	if (class->names == 1 && !class_drop(class, cache->name))
		return -DRY_EBUSY;
	class->names--;
	while (*link != cache)
		link = &(*link)->next;
	*link = cache->next;
	cache->class = (struct dry_class *)(uintptr_t)&dry_tiny_dead;
	dry_tiny_free(cache->heap, cache);
	return 0;
}

int dry_cache_destroy(dry_cache *cache)
{
	int status;

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
