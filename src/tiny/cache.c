/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Caches: names of classes. Like ones share a class, also with general allocation. */
#include "base/error.h"
#include "base/memory.h"
#include "tiny/tiny.h"

enum {
	NAME_MOST = 63,
	LIMIT_MOST = 512,
	MERGE_LOOK = 64, /* classes looked at, the youngest ones */
	LINE = 64, /* of DRY_CACHE_HWALIGN */
};

/* No management type can be chosen: there is one. */
static bool valid(const struct dry_cache_attr *attr)
{
	return attr->name != NULL && attr->name[0] != '\0' && attr->size - 1 < DRY_TINY_SIZE_MOST &&
	       attr->align <= DRY_TINY_ALIGN_MOST && (attr->align & (attr->align - 1)) == 0 && attr->limit <= LIMIT_MOST &&
	       ((uintptr_t)attr->dtor | (uintptr_t)attr->reclaim | (uintptr_t)attr->source |
		(attr->flags & ~(DRY_CACHE_HWALIGN | DRY_CACHE_NO_MERGE))) == 0;
}

static size_t align_of(const struct dry_cache_attr *attr)
{
	size_t align = attr->align != 0 ? attr->align : attr->size % 16 == 0 ? 16 : 8;

	return (attr->flags & DRY_CACHE_HWALIGN) != 0 && align < LINE ? LINE : align;
}

static void class_free(struct dry_class *class)
{
	struct dry_owner owner;

	owner.heap = class->heap;
	owner.class = &owner.heap->classes_of;
	dry_link_remove(&class->classes);
	dry_tiny_object_free(&owner, class);
}

/* The class that a new one (the youngest) is like, if it is among the LOOK next ones: then the new one is not needed. */
static struct dry_class *merged(struct dry_class *class)
{
	struct dry_link *link = class->classes.next;

	for (unsigned look = MERGE_LOOK; link != NULL && look != 0; look--, link = link->next) {
		struct dry_class *other = DRY_CONTAINER(link, struct dry_class, classes);

		if (other->slot == class->slot && other->align >= class->align && (other->flags & DRY_CLASS_OWN) == 0 &&
		    other->names < UINT16_MAX) {
			class_free(class);
			return other;
		}
	}
	return class;
}

static struct dry_cache *create(struct dry_heap *heap, const struct dry_cache_attr *attr)
{
	size_t length = 0;
	struct dry_class *class;
	struct dry_cache *cache;

	while (length < NAME_MOST && attr->name[length] != '\0')
		length++;
	class = dry_tiny_object_alloc(&heap->classes_of);
	if (class == NULL)
		return NULL;
	dry_tiny_class_init(class, heap, attr->size, align_of(attr), attr->ctor);
	class->arg = attr->arg;
	cache = dry_tiny_alloc(heap, sizeof(*cache) + length + 1, 1);
	if (cache == NULL) {
		class_free(class);
		return NULL;
	}
	class->flags = DRY_CLASS_OWN;
	if ((attr->flags & DRY_CACHE_NO_MERGE) == 0 && attr->ctor == NULL) {
		class->flags = 0;
		class = merged(class);
	}
	class->names++;
	cache->owner.class = class;
	cache->owner.heap = heap;
	dry_link_insert(&cache->owner.caches, heap->caches.prev);
	cache->size = (uint32_t)attr->size;
	cache->flags = (uint8_t)attr->flags;
	cache->name[length] = '\0';
	memcpy(cache->name, attr->name, length);
	return cache;
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

static int destroy(struct dry_cache *cache)
{
	struct dry_class *class = cache->owner.class;
	unsigned names;
	size_t used;

	if (class == DRY_TINY_DEAD) {
		dry_tiny_bad_pointer(&cache->owner, cache);
		return 0;
	}
	names = class->names - 1u;
	/* what was reserved goes with its last name, or nobody could give it back */
	if (names == 0)
		dry_tiny_class_shrink(class);
	/* classes of general allocation stay */
	if (names == 0 && (class->flags & DRY_CLASS_KEPT) == 0) {
		used = dry_tiny_class_used(class);
		if (used != 0) {
			dry_tiny_leak(cache->name, used);
			return -DRY_EBUSY;
		}
		class_free(class);
	} else {
		class->names = (uint16_t)names;
	}
	dry_link_remove(&cache->owner.caches);
	cache->owner.class = DRY_TINY_DEAD;
	dry_tiny_free(cache->owner.heap, cache);
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
	void *object = dry_cache_alloc(cache);

	if (object == NULL)
		return NULL;
	if (cache->owner.class->ctor == NULL)
		return memset(object, 0, cache->size);
	dry_cache_free(cache, object);
	dry_tiny_set_errno(DRY_EINVAL);
	return NULL;
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
	done = dry_tiny_class_reserve(cache->owner.class, n);
	dry_tiny_unlock();
	return done ? 0 : -DRY_ENOMEM;
}

size_t dry_cache_shrink(dry_cache *cache)
{
	size_t slabs;

	dry_tiny_lock();
	slabs = dry_tiny_class_shrink(cache->owner.class);
	dry_tiny_unlock();
	return slabs;
}
