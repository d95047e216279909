/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Slabs: objects of one class in a run of pages, the free ones linked through themselves. */
#include "base/bits.h"
#include "base/error.h"
#include "base/fatal.h"
#include "tiny/pages.h"

const struct dry_object dry_tiny_nil = { NULL, UINTPTR_MAX - 1 };

const struct dry_class dry_tiny_dead = {
	.list = { .free = DRY_TINY_NIL, .next = (struct dry_link *)(uintptr_t)&dry_tiny_dead.list },
};

void dry_tiny_class_init(struct dry_class *class, struct dry_heap *heap, size_t size, unsigned align_log2,
			 void (*ctor)(void *))
{
	size_t align, head = sizeof(struct dry_slab);

	if (align_log2 < (sizeof(void *) == 8 ? 3 : 2))
		align_log2 = sizeof(void *) == 8 ? 3 : 2;
	align = (size_t)1 << align_log2;
	class->heap = heap;
	class->ctor = ctor;
	class->link = 0;
	class->align_log2 = (uint8_t)align_log2;
	if (ctor != NULL) {
		class->link = (uint32_t)dry_round_up(size, sizeof(void *));
		size = class->link + sizeof(struct dry_object);
		head += sizeof(struct dry_object *);
	}
	if (size < sizeof(struct dry_object))
		size = sizeof(struct dry_object);
	class->slot = (uint32_t)dry_round_up(size, align);
	class->first = (uint32_t)dry_round_up(head, align);
}

void dry_tiny_class_add(struct dry_class *class, const struct dry_class *layout, unsigned flags)
{
	*class = *layout;
	class->list.free = DRY_TINY_NIL;
	class->list.next = class->list.prev = &class->list;
	class->flags = (uint8_t)flags;
	class->names = 0;
	class->objects = class->slabs = 0;
	class->last = NULL;
	class->older = class->heap->classes;
	class->heap->classes = class;
}

/* ---- sizes ------------------------------------------------------------------------------------ */

size_t dry_tiny_slab_pages(const struct dry_class *class, size_t objects)
{
	return dry_pages_for(class->heap, class->first + objects * class->slot);
}

size_t dry_tiny_slab_room(const struct dry_class *class, size_t pages)
{
	size_t objects = ((pages << class->heap->shift) - class->first) / class->slot;

	return objects < UINT16_MAX ? objects : UINT16_MAX - 1;
}

size_t dry_tiny_slab_most(const struct dry_class *class)
{
	size_t pages = dry_tiny_slab_pages(class, 1);

	return pages < DRY_TINY_SLAB_PAGES ? DRY_TINY_SLAB_PAGES : pages;
}

size_t dry_tiny_slab_marks(const struct dry_class *class, size_t objects)
{
	return objects > 1 ? dry_tiny_slab_pages(class, objects) : (class->first >> class->heap->shift) + 1u;
}

/* ---- a slab's life ------------------------------------------------------------------------- */

/* A link leads to a slab of the heap or to the list's head; only then it may be followed. */
static bool leads(const struct dry_slab *slab, const struct dry_link *to)
{
	return to == &slab->class->list ||
	       (const struct dry_link *)(void *)dry_tiny_slab_of(slab->class->heap, to) == to;
}

static void list_remove(struct dry_slab *slab)
{
	struct dry_link *link = &slab->list;

	if (DRY_TINY_CHECK_LINKS && (!leads(slab, link->next) || !leads(slab, link->prev) || link->next->prev != link ||
				     link->prev->next != link))
		dry_fatal(DRY_FATAL_INTERNAL, slab, dry_tiny_class_name(slab->class), "links of a slab");
	link->next->prev = link->prev;
	link->prev->next = link->next;
}

static void list_insert(struct dry_slab *slab, struct dry_link *behind)
{
	struct dry_link *link = &slab->list;

	link->prev = behind;
	link->next = behind->next;
	behind->next->prev = link;
	behind->next = link;
}

static struct dry_object **free_list(struct dry_slab *slab)
{
	return slab->class->ctor != NULL ? slab->built : &slab->list.free;
}

unsigned dry_tiny_slab_free(const struct dry_slab *slab)
{
	const struct dry_object *object = slab->class->ctor != NULL ? slab->built[0] : slab->list.free;

	return object != DRY_TINY_NIL ? (unsigned)(object->key - DRY_TINY_KEY) : 0;
}

/* Its pages' entries in the map. */
static void map_slab(const struct dry_slab *slab, bool there)
{
	uint16_t *map = dry_map_of(slab->class->heap, slab);

	for (size_t i = 0, n = dry_tiny_slab_marks(slab->class, slab->objects); i < n; i++)
		map[i] = there ? (uint16_t)i : DRY_MAP_NONE;
}

/* next NULL: it is the only one. */
static inline void push(struct dry_object **list, struct dry_object *object, struct dry_object *next, uintptr_t key)
{
	object->next = next;
	object->key = key;
	*list = object;
}

/* Link objects that were never used, onto an empty list: all if they have to be constructed. */
static void carve(struct dry_slab *slab)
{
	struct dry_class *class = slab->class;
	unsigned n = slab->objects - slab->carved;
	struct dry_object **list = free_list(slab), *next = NULL;
	char *at;

	if (n > DRY_TINY_CARVE && class->ctor == NULL)
		n = DRY_TINY_CARVE;
	at = (char *)slab + class->first + slab->carved * (size_t)class->slot;
	if (slab->emptied != UINTPTR_MAX)
		slab->emptied += n;
	slab->carved = (uint16_t)(slab->carved + n);
	/* from the last one, so that they are handed out in order */
	at += n * (size_t)class->slot;
	for (uintptr_t key = DRY_TINY_KEY; key != DRY_TINY_KEY + n;) {
		at -= class->slot;
		if (class->ctor != NULL)
			class->ctor(at);
		push(list, (struct dry_object *)(void *)(at + class->link), next, ++key);
		next = *list;
	}
}

static void slab_release(struct dry_slab *slab)
{
	struct dry_class *class = slab->class;
	struct dry_heap *heap = class->heap;

	for (unsigned i = 0; i < DRY_TINY_SPARES; i++)
		if (heap->spares[i] == slab)
			heap->spares[i] = NULL;
	if (class->last == slab)
		class->last = NULL;
	class->slabs--;
	class->objects -= slab->objects;
	list_remove(slab);
	map_slab(slab, false);
	dry_pages_free(heap, slab, dry_tiny_slab_pages(class, slab->objects));
}

/* The last slab grows by at least one object. */
static struct dry_slab *slab_extend(struct dry_class *class)
{
	struct dry_slab *slab = class->last;
	size_t pages, objects, more;

	if (slab == NULL)
		return NULL;
	pages = dry_tiny_slab_pages(class, slab->objects);
	objects = dry_tiny_slab_room(class, dry_tiny_slab_pages(class, slab->objects + 1u));
	more = dry_tiny_slab_pages(class, objects) - pages;
	if (pages + more > DRY_TINY_SLAB_PAGES || !dry_pages_extend(class->heap, slab, pages, more))
		return NULL;
	class->objects += (uint32_t)objects - slab->objects;
	slab->objects = (uint16_t)objects;
	map_slab(slab, true);
	return slab;
}

static struct dry_slab *slab_create(struct dry_class *class, size_t objects)
{
	struct dry_heap *heap = class->heap;
	size_t pages = dry_tiny_slab_pages(class, objects), most = dry_tiny_slab_most(class);
	struct dry_slab *slab;

	if (pages > most)
		pages = most;
	for (;;) {
		objects = dry_tiny_slab_room(class, pages);
		slab = dry_pages_alloc(heap, dry_tiny_slab_pages(class, objects), (size_t)1 << class->align_log2);
		if (slab != NULL)
			break;
		if (most == 0)
			return NULL;
		/* once more, with as little as will do */
		dry_tiny_spares_free(heap);
		pages = dry_tiny_slab_pages(class, 1);
		most = 0;
	}
	slab->class = class;
	*free_list(slab) = slab->list.free = DRY_TINY_NIL;
	slab->carved = 0;
	slab->emptied = DRY_TINY_KEY;
	slab->objects = (uint16_t)objects;
	map_slab(slab, true);
	class->last = slab;
	class->slabs++;
	class->objects += (uint32_t)objects;
	return slab;
}

static bool is_empty(const struct dry_slab *slab)
{
	return dry_tiny_slab_free(slab) == slab->carved;
}

/* A slab is no longer kept: given back if it is empty. */
static void spare_drop(struct dry_slab *slab)
{
	if (slab == NULL)
		return;
	slab->emptied = DRY_TINY_KEY + slab->carved;
	if (is_empty(slab))
		slab_release(slab);
}

void dry_tiny_spares_free(struct dry_heap *heap)
{
	for (unsigned i = 0; i < DRY_TINY_SPARES; i++) {
		struct dry_slab *slab = heap->spares[i];

		heap->spares[i] = NULL;
		spare_drop(slab);
	}
}

/* A slab has no used object left: it goes to the list's end and is kept, in place of another. */
static void slab_emptied(struct dry_slab *slab)
{
	struct dry_heap *heap = slab->class->heap;
	struct dry_slab **spare = &heap->spares[heap->spare_next], *old = *spare;

	list_remove(slab);
	list_insert(slab, slab->class->list.prev);
	slab->emptied = UINTPTR_MAX;
	*spare = slab;
	if (++heap->spare_next == DRY_TINY_SPARES)
		heap->spare_next = 0;
	spare_drop(old);
}

/* ---- allocation ------------------------------------------------------------------------------ */

static inline struct dry_slab *first_slab(struct dry_class *class)
{
	return (struct dry_slab *)(void *)class->list.next;
}

static void *pop(struct dry_slab *slab)
{
	struct dry_class *class = slab->class;
	struct dry_object **list = free_list(slab), *object = *list;

	*list = object->next;
	object->key = 0;
	if (object->next == NULL) {
		*list = DRY_TINY_NIL;
		if (slab->carved < slab->objects)
			carve(slab);
		else
			list_remove(slab);
	} else if (DRY_TINY_CHECK_LINKS &&
		   (dry_tiny_slab_of(class->heap, *list) != slab || (*list)->key - DRY_TINY_KEY > slab->carved)) {
		dry_fatal(DRY_FATAL_INTERNAL, object, dry_tiny_class_name(class), "link of a free object");
	}
	return (char *)object - class->link;
}

void *dry_tiny_object_alloc(struct dry_class *class)
{
	struct dry_slab *slab = first_slab(class);

	if (&slab->list == &class->list) {
		slab = slab_extend(class);
		if (slab == NULL)
			slab = slab_create(class, class->objects / 4 + 1);
		if (slab == NULL)
			return NULL;
		carve(slab);
		list_insert(slab, &class->list);
	}
	return pop(slab);
}

static DRY_SLOW void *cache_alloc_slow(struct dry_cache *cache)
{
	if (cache->class != &dry_tiny_dead)
		return dry_tiny_object_alloc(cache->class);
	dry_fatal(DRY_FATAL_DEAD_CACHE, cache, NULL, NULL);
	return NULL;
}

/* The hit: an object that is not its slab's last linked one. */
DRY_FAST void *cache_alloc(struct dry_cache *cache)
{
	struct dry_link *slab = cache->class->list.next;
	struct dry_object *object = slab->free, *next = object->next;

	if (DRY_UNLIKELY(DRY_TINY_CHECK_LINKS || next == NULL))
		return cache_alloc_slow(cache);
	slab->free = next;
	object->key = (uintptr_t)next; /* anything but a key */
	return object;
}

/* ---- free ------------------------------------------------------------------------------------- */

static inline struct dry_slab *dry_slab_at(const struct dry_heap *heap, uintptr_t page, uintptr_t back)
{
	return (struct dry_slab *)((page - back) << heap->shift);
}

struct dry_slab *dry_tiny_slab_of(struct dry_heap *heap, const void *address)
{
	struct dry_pool *pool = dry_pool_of(heap, address);
	size_t entry = pool != NULL ? *dry_map_entry(heap, pool, (uintptr_t)address) : DRY_MAP_NONE;

	return entry < DRY_MAP_BLOCK ? dry_slab_at(heap, (uintptr_t)address >> heap->shift, entry) : NULL;
}

/* Only called for an object that carries a free one's key. */
static bool is_free(struct dry_slab *slab, const struct dry_object *object)
{
	const struct dry_object *at = *free_list(slab);

	for (unsigned n = slab->carved; at != NULL && n != 0; n--, at = at->next) /* nil has no next */
		if (at == object)
			return true;
	return false;
}

void dry_tiny_object_free(struct dry_heap *heap, struct dry_class *class, void *object)
{
	struct dry_slab *slab = dry_tiny_slab_of(heap, object);
	struct dry_object **list, *link, *next;
	size_t offset, index;
	uintptr_t key;

	if (slab == NULL || (class != NULL && slab->class != class))
		goto bad;
	class = slab->class;
	offset = (size_t)((char *)object - (char *)slab) - class->first;
	index = offset / class->slot;
	link = (struct dry_object *)(void *)((char *)object + class->link);
	if (index >= slab->carved || index * class->slot != offset ||
	    (link->key - DRY_TINY_KEY <= slab->carved && is_free(slab, link)))
		goto bad;
	list = free_list(slab);
	next = *list;
	key = next->key + 1;
	if (next == DRY_TINY_NIL) {
		/* at the end: by its turn more of it is free, and calls at either end of a list are rare */
		list_insert(slab, class->list.prev);
		key = DRY_TINY_KEY + 1;
		next = NULL;
	}
	push(list, link, next, key);
	if (key == slab->emptied)
		slab_emptied(slab);
	return;
bad:
	if (object != NULL)
		dry_tiny_bad_pointer(heap, class, object);
}

static DRY_SLOW void cache_free_slow(struct dry_cache *cache, void *object)
{
	dry_tiny_object_free(cache->heap, cache->class, object);
}

/* The hit: neither the slab's first free object nor its last used one. The rest, and all that is wrong, is the twin's. */
DRY_FAST void cache_free(struct dry_cache *cache, void *pointer)
{
	const struct dry_class *class = cache->class;
	const struct dry_heap *heap = cache->heap;
	uintptr_t object = (uintptr_t)pointer, page = object >> heap->shift, back, key;
	struct dry_object *link = pointer, *next;
	struct dry_slab *slab;
	size_t offset;

	if (DRY_UNLIKELY(DRY_TINY_CHECK_LINKS || object - heap->pool.base >= heap->pool.bytes))
		goto slow;
	back = *(const uint16_t *)(heap->pool.map + page * sizeof(uint16_t));
	if (DRY_UNLIKELY(back >= DRY_MAP_BLOCK))
		goto slow;
	slab = dry_slab_at(heap, page, back);
	offset = object - (uintptr_t)slab - class->first;
	if (DRY_UNLIKELY(slab->class != class || offset / class->slot >= slab->carved || offset % class->slot != 0 ||
			 (intptr_t)link->key >= (intptr_t)DRY_TINY_KEY))
		goto slow;
	next = slab->list.free;
	key = next->key + 1;
	if (DRY_UNLIKELY(key >= slab->emptied))
		goto slow;
	push(&slab->list.free, link, next, key);
	return;
slow:
	cache_free_slow(cache, pointer);
}

/* ---- the whole class -------------------------------------------------------------------------- */

size_t dry_tiny_class_used(const struct dry_class *class)
{
	size_t used = class->objects;

	for (const struct dry_link *link = class->list.next; link != &class->list; link = link->next) {
		const struct dry_slab *slab = (const struct dry_slab *)(const void *)link;

		used -= dry_tiny_slab_free(slab) + slab->objects - slab->carved;
	}
	return used;
}

size_t dry_tiny_class_shrink(struct dry_class *class)
{
	size_t before = class->slabs;
	struct dry_link *link, *next;

	dry_tiny_spares_free(class->heap);
	for (link = class->list.next; link != &class->list; link = next) {
		next = link->next;
		if (is_empty((struct dry_slab *)(void *)link))
			slab_release((struct dry_slab *)(void *)link);
	}
	return before - class->slabs;
}

bool dry_tiny_class_reserve(struct dry_class *class, size_t n)
{
	size_t free, made = 0;

	/* what is kept only until memory is short does not count */
	dry_tiny_spares_free(class->heap);
	free = class->objects - dry_tiny_class_used(class);
	for (; free < n; made++) {
		struct dry_slab *slab = slab_create(class, n - free);

		if (slab == NULL) {
			for (; made != 0; made--)
				slab_release((struct dry_slab *)(void *)class->list.prev);
			return false;
		}
		carve(slab);
		list_insert(slab, class->list.prev);
		free += slab->objects;
	}
	return true;
}

/* ---- the calls that have to be short -------------------------------------------------------- */

void *dry_cache_alloc(dry_cache *cache)
{
	void *object;

	dry_tiny_lock();
	object = cache_alloc(cache);
	dry_tiny_unlock();
	if (object == NULL)
		dry_tiny_set_errno(DRY_ENOMEM);
	return object;
}

void dry_cache_free(dry_cache *cache, void *object)
{
	dry_tiny_lock();
	cache_free(cache, object);
	dry_tiny_unlock();
}

void dry_tiny_class_figures(const struct dry_class *class, struct dry_cache_stats *stats)
{
	/* the shape of the largest slab that it can have */
	stats->pages_per_slab = (unsigned)dry_tiny_slab_most(class);
	stats->objects_per_slab = (unsigned)dry_tiny_slab_room(class, stats->pages_per_slab);
	stats->waste = class->first;
	stats->active_objects = dry_tiny_class_used(class);
	stats->objects = class->objects;
	stats->slabs = stats->active_slabs = class->slabs;
	for (const struct dry_link *link = class->list.next; link != &class->list; link = link->next)
		stats->active_slabs -= is_empty((const struct dry_slab *)(const void *)link);
}
