/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Slabs: objects of one class in a run of pages, with the free ones on the slab's own list. */
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/fatal.h"
#include "tiny/pages.h"

const struct dry_class dry_tiny_dead = {
	.list = { .next = (struct dry_slab *)(uintptr_t)&dry_tiny_dead.list },
};

void dry_tiny_class_init(struct dry_class *class, struct dry_heap *heap, size_t size, size_t align,
			 void (*ctor)(void *), unsigned flags)
{
	size_t room = size;

	memset(class, 0, sizeof(*class));
	if (ctor != NULL) {
		class->link = (uint32_t)dry_round_up(size, sizeof(void *));
		room = class->link + sizeof(struct dry_object);
	}
	if (room < sizeof(struct dry_object))
		room = sizeof(struct dry_object);
	if (align < sizeof(void *))
		align = sizeof(void *);
	class->list.next = class->list.prev = &class->list;
	class->heap = heap;
	class->ctor = ctor;
	class->align = (uint32_t)align;
	class->slot = (uint32_t)dry_round_up(room, align);
	class->first = (uint32_t)dry_round_up(sizeof(struct dry_slab), align);
	class->flags = (uint8_t)flags;
	class->older = heap->classes;
	heap->classes = class;
}

/* ---- a slab's life ------------------------------------------------------------------------- */

static void list_remove(struct dry_slab *slab)
{
	if (DRY_TINY_CHECK_LINKS && (slab->next->prev != slab || slab->prev->next != slab))
		dry_fatal(DRY_FATAL_INTERNAL, slab, dry_tiny_class_name(slab->class), "links of a slab");
	slab->next->prev = slab->prev;
	slab->prev->next = slab->next;
}

static void list_insert(struct dry_slab *slab, struct dry_slab *behind)
{
	slab->prev = behind;
	slab->next = behind->next;
	behind->next->prev = slab;
	behind->next = slab;
}

static size_t slab_pages(const struct dry_class *class, size_t objects)
{
	return dry_pages_for(class->heap, class->first + objects * class->slot);
}

static size_t slab_room(const struct dry_class *class, size_t pages)
{
	size_t objects = ((pages << class->heap->shift) - class->first) / class->slot;

	return objects < UINT16_MAX ? objects : UINT16_MAX;
}

/* Pages of the largest slab. */
static size_t slab_most(const struct dry_class *class)
{
	size_t pages = slab_pages(class, 1);

	return pages < DRY_TINY_SLAB_PAGES ? DRY_TINY_SLAB_PAGES : pages;
}

size_t dry_tiny_slab_marks(const struct dry_class *class, size_t objects, size_t pages)
{
	return objects > 1 ? pages : (class->first >> class->heap->shift) + 1u;
}

static void map_slab(struct dry_heap *heap, const struct dry_slab *slab, size_t from, size_t to)
{
	struct dry_pool *pool = dry_pool_of(heap, slab);
	uint16_t *map = pool->map + (((uintptr_t)slab - (uintptr_t)pool->base) >> heap->shift);

	for (; from < to; from++)
		map[from] = (uint16_t)from;
}

static inline void push(struct dry_slab *slab, struct dry_object *object)
{
	object->next = slab->free;
	object->key = ~(uintptr_t)object;
	slab->free = object;
}

/* Link objects that were never used: all if they have to be constructed. */
static void carve(struct dry_class *class, struct dry_slab *slab)
{
	size_t n = slab->objects - slab->carved;
	char *at = (char *)slab + class->first + slab->carved * (size_t)class->slot;

	if (n > DRY_TINY_CARVE && class->ctor == NULL)
		n = DRY_TINY_CARVE;
	slab->carved = (uint16_t)(slab->carved + n);
	/* from the last one, so that they are handed out in order */
	for (at += n * class->slot; n != 0; n--) {
		at -= class->slot;
		if (class->ctor != NULL)
			class->ctor(at);
		push(slab, (struct dry_object *)(void *)(at + class->link));
	}
}

static void slab_release(struct dry_slab *slab)
{
	struct dry_class *class = slab->class;
	struct dry_heap *heap = class->heap;
	size_t pages = slab_pages(class, slab->objects);
	struct dry_pool *pool = dry_pool_of(heap, slab);

	for (unsigned i = 0; i < DRY_TINY_SPARES; i++)
		if (heap->spares[i] == slab)
			heap->spares[i] = NULL;
	if (class->last == slab)
		class->last = NULL;
	class->slabs--;
	class->objects -= slab->objects;
	list_remove(slab);
	memset(pool->map + (((uintptr_t)slab - (uintptr_t)pool->base) >> heap->shift), DRY_MAP_NONE & 0xff,
	       dry_tiny_slab_marks(class, slab->objects, pages) * sizeof(*pool->map));
	dry_pages_free(heap, slab, pages);
}

/* The last slab grows by at least one object. */
static struct dry_slab *slab_extend(struct dry_class *class)
{
	struct dry_slab *slab = class->last;
	size_t pages, more;

	if (slab == NULL)
		return NULL;
	pages = slab_pages(class, slab->objects);
	more = slab_pages(class, slab_room(class, slab_pages(class, slab->objects + 1u))) - pages;
	if (pages + more > DRY_TINY_SLAB_PAGES || !dry_pages_extend(class->heap, slab, pages, more))
		return NULL;
	map_slab(class->heap, slab, 1, pages + more);
	class->objects -= slab->objects;
	slab->objects = (uint16_t)slab_room(class, pages + more);
	class->objects += slab->objects;
	return slab;
}

static struct dry_slab *slab_create(struct dry_class *class, size_t objects)
{
	struct dry_heap *heap = class->heap;
	size_t pages = slab_pages(class, objects), most = slab_most(class);
	struct dry_slab *slab;

	if (pages > most)
		pages = most;
	objects = slab_room(class, pages);
	slab = dry_pages_alloc(heap, slab_pages(class, objects), class->align);
	if (slab == NULL) {
		dry_tiny_spares_free(heap);
		objects = slab_room(class, slab_pages(class, 1));
		slab = dry_pages_alloc(heap, slab_pages(class, objects), class->align);
		if (slab == NULL)
			return NULL;
	}
	slab->free = NULL;
	slab->class = class;
	slab->used = slab->carved = 0;
	slab->objects = (uint16_t)objects;
	map_slab(heap, slab, 0, dry_tiny_slab_marks(class, objects, slab_pages(class, objects)));
	class->last = slab;
	class->slabs++;
	class->grown++;
	class->objects += objects;
	return slab;
}

bool dry_tiny_spares_free(struct dry_heap *heap)
{
	bool any = false;

	for (unsigned i = 0; i < DRY_TINY_SPARES; i++) {
		struct dry_slab *slab = heap->spares[i];

		heap->spares[i] = NULL;
		if (slab != NULL && slab->used == 0) {
			slab_release(slab);
			any = true;
		}
	}
	return any;
}

/* A slab has no used object left: it goes to the list's end and is kept, in place of another. */
static DRY_SLOW void slab_emptied(struct dry_slab *slab)
{
	struct dry_class *class = slab->class;
	struct dry_heap *heap = class->heap;
	struct dry_slab *old;

	for (unsigned i = 0; i < DRY_TINY_SPARES; i++)
		if (heap->spares[i] == slab)
			return;
	list_remove(slab);
	list_insert(slab, class->list.prev);
	old = heap->spares[heap->spare_next];
	heap->spares[heap->spare_next] = slab;
	heap->spare_next = (heap->spare_next + 1) % DRY_TINY_SPARES;
	if (old != NULL && old->used == 0)
		slab_release(old);
}

/* ---- allocation ------------------------------------------------------------------------------ */

/* No slab on the list: one that has free objects, put on it. */
static DRY_SLOW struct dry_slab *more(struct dry_class *class)
{
	struct dry_slab *slab = slab_extend(class);

	if (slab == NULL)
		slab = slab_create(class, class->objects / 4 + 1);
	if (slab == NULL)
		return NULL;
	carve(class, slab);
	list_insert(slab, &class->list);
	return slab;
}

/* The slab's last linked object was taken. */
static DRY_SLOW void ran_out(struct dry_class *class, struct dry_slab *slab)
{
	if (slab->carved < slab->objects)
		carve(class, slab);
	else
		list_remove(slab);
}

DRY_FAST void *pop(struct dry_class *class, struct dry_slab *slab)
{
	struct dry_object *object = slab->free;

	slab->used++;
	class->allocs++;
	slab->free = object->next;
	object->key = 0;
	if (DRY_UNLIKELY(slab->free == NULL))
		ran_out(class, slab);
	else if (DRY_TINY_CHECK_LINKS &&
		 (dry_tiny_slab_of(class->heap, slab->free) != slab || slab->free->key != ~(uintptr_t)slab->free))
		dry_fatal(DRY_FATAL_INTERNAL, object, dry_tiny_class_name(class), "link of a free object");
	return (char *)object - class->link;
}

static DRY_SLOW void *object_alloc_slow(struct dry_class *class)
{
	struct dry_slab *slab;

	if (class == &dry_tiny_dead) {
		dry_fatal(DRY_FATAL_DEAD_CACHE, class, NULL, "allocation");
		return NULL;
	}
	slab = more(class);
	return slab != NULL ? pop(class, slab) : NULL;
}

DRY_FAST void *object_alloc(struct dry_class *class)
{
	struct dry_slab *slab = class->list.next;

	return DRY_LIKELY(slab->free != NULL) ? pop(class, slab) : object_alloc_slow(class);
}

void *dry_tiny_object_alloc(struct dry_class *class)
{
	return object_alloc(class);
}

/* ---- free ------------------------------------------------------------------------------------- */

struct dry_slab *dry_tiny_slab_of(struct dry_heap *heap, const void *address)
{
	struct dry_pool *pool = dry_pool_of(heap, address);
	size_t page;

	if (pool == NULL)
		return NULL;
	page = ((uintptr_t)address - (uintptr_t)pool->base) >> heap->shift;
	if (pool->map[page] >= DRY_MAP_BLOCK)
		return NULL;
	page -= pool->map[page];
	return (struct dry_slab *)(void *)(pool->base + (page << heap->shift));
}

/* Only called for an object that carries a free one's key. */
static DRY_SLOW bool is_free(const struct dry_slab *slab, const struct dry_object *object)
{
	const struct dry_object *at = slab->free;

	for (unsigned n = slab->carved; at != NULL && n != 0; n--, at = at->next)
		if (at == object)
			return true;
	return false;
}

static inline bool object_free(struct dry_heap *heap, struct dry_class *class, void *object)
{
	struct dry_slab *slab = dry_tiny_slab_of(heap, object);
	size_t offset, index;
	struct dry_object *link;

	if (slab == NULL)
		goto bad;
	if (class == NULL)
		class = slab->class;
	else if (slab->class != class)
		goto bad;
	offset = (size_t)((char *)object - (char *)slab) - class->first;
	index = offset / class->slot;
	if (index >= slab->carved || index * class->slot != offset)
		goto bad;
	link = (struct dry_object *)(void *)((char *)object + class->link);
	if (DRY_UNLIKELY(link->key == ~(uintptr_t)link) && is_free(slab, link))
		goto bad;
	if (DRY_UNLIKELY(slab->free == NULL))
		list_insert(slab, &class->list);
	push(slab, link);
	class->frees++;
	if (--slab->used == 0)
		slab_emptied(slab);
	return true;
bad:
	dry_tiny_bad_pointer(heap, class, object);
	return false;
}

bool dry_tiny_object_free(struct dry_heap *heap, struct dry_class *class, void *object)
{
	return object_free(heap, class, object);
}

size_t dry_tiny_class_shrink(struct dry_class *class)
{
	size_t count = 0;
	struct dry_slab *slab;

	while ((slab = class->list.prev) != &class->list && slab->used == 0) {
		slab_release(slab);
		count++;
	}
	return count;
}

bool dry_tiny_class_reserve(struct dry_class *class, size_t n)
{
	struct dry_heap *heap = class->heap;
	size_t made = 0;

	/* What is kept only until memory is short does not count; reserved slabs are not among those. */
	for (unsigned i = 0; i < DRY_TINY_SPARES; i++)
		if (heap->spares[i] != NULL && heap->spares[i]->class == class)
			heap->spares[i] = NULL;
	while (class->objects - (class->allocs - class->frees) < n) {
		struct dry_slab *slab = slab_create(class, n - (class->objects - (class->allocs - class->frees)));

		if (slab == NULL) {
			for (; made != 0; made--)
				slab_release(class->list.prev);
			return false;
		}
		carve(class, slab);
		list_insert(slab, class->list.prev);
		made++;
	}
	return true;
}

/* ---- the calls that have to be short -------------------------------------------------------- */

void *dry_cache_alloc(dry_cache *cache)
{
	void *object;

	dry_tiny_lock();
	object = object_alloc(cache->class);
	dry_tiny_unlock();
	if (object == NULL)
		dry_tiny_set_errno(DRY_ENOMEM);
	return object;
}

void dry_cache_free(dry_cache *cache, void *object)
{
	struct dry_class *class = cache->class;

	if (object == NULL)
		return;
	dry_tiny_lock();
	if (DRY_LIKELY(class->heap != NULL))
		object_free(class->heap, class, object);
	else
		dry_fatal(DRY_FATAL_DEAD_CACHE, object, NULL, "free");
	dry_tiny_unlock();
}

void dry_tiny_class_shape(const struct dry_class *class, struct dry_cache_stats *stats)
{
	size_t pages = slab_most(class);

	stats->pages_per_slab = (unsigned)pages;
	stats->objects_per_slab = (unsigned)slab_room(class, pages);
	stats->waste = class->first;
}
