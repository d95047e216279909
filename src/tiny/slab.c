/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Slabs: objects of one class in a run of pages, the free ones linked through themselves. */
#include "base/bits.h"
#include "base/error.h"
#include "tiny/pages.h"

enum { DRY_SLAB_BYTES = 1 << 19 }; /* a slab of several objects has no more, so that 16 bits count them */

_Static_assert(offsetof(struct dry_slab, free) == offsetof(struct dry_class, free), "an empty list looks like a slab");

void dry_tiny_class_init(struct dry_class *class, struct dry_heap *heap, size_t size, size_t align, void (*ctor)(void *, void *))
{
	if (align < sizeof(void *))
		align = sizeof(void *);
	class->link = 0;
	if (ctor != NULL) {
		class->link = (uint32_t)dry_round_up(size, sizeof(void *));
		size = class->link + sizeof(struct dry_object);
	}
	if (size < sizeof(struct dry_object))
		size = sizeof(struct dry_object);
	class->slot = (uint32_t)dry_round_up(size, align);
	class->first = (uint32_t)dry_round_up(sizeof(struct dry_slab), align);
	class->align = (uint32_t)align;
	class->heap = heap;
	class->ctor = ctor;
	class->free = DRY_TINY_NIL;
	class->last = NULL;
	class->objects = class->slabs = 0;
	class->names = 0;
	dry_link_init(&class->list);
	dry_link_insert(&class->classes, &heap->classes);
}

/* ---- sizes ------------------------------------------------------------------------------------ */

size_t dry_tiny_slab_pages(const struct dry_class *class, size_t objects)
{
	return dry_pages_for(class->heap, class->first + objects * class->slot);
}

size_t dry_tiny_slab_room(const struct dry_class *class, size_t pages)
{
	return ((pages << class->heap->pool.shift) - class->first) / class->slot;
}

size_t dry_tiny_slab_most(const struct dry_class *class)
{
	size_t pages = dry_tiny_slab_pages(class, 1), most = DRY_SLAB_BYTES >> class->heap->pool.shift;

	if (most > DRY_TINY_SLAB_PAGES)
		most = DRY_TINY_SLAB_PAGES;
	return pages < most ? most : pages;
}

/* ---- a slab's life ------------------------------------------------------------------------- */

/* A link leads to a slab of the heap or to the list's head; only then it may be followed. */
static bool leads(const struct dry_slab *slab, const struct dry_link *to)
{
	return to == &slab->class->list ||
	       (const struct dry_link *)(void *)dry_map_slab(slab->class->heap, to) == to;
}

static void list_remove(struct dry_slab *slab)
{
	struct dry_link *link = &slab->list;

	if (DRY_TINY_CHECK_LINKS && (!leads(slab, link->next) || !leads(slab, link->prev) || link->next->prev != link ||
				     link->prev->next != link))
		dry_tiny_bad_link(slab->class, slab);
	dry_link_remove(link);
}

/* A free object's link may be followed: to the end, or into the slab. */
static bool goes_on(const struct dry_slab *slab, const struct dry_object *next)
{
	return next == NULL || ((uintptr_t)next % sizeof(void *) == 0 && dry_map_slab(slab->class->heap, next) == slab);
}

/*
 * The slab's first free object counts one more than the next one, to which it leads. A count that a program changed would make a
 * slab with used objects an empty one.
 */
static bool first_holds(const struct dry_slab *slab)
{
	const struct dry_object *first = slab->free, *next = first->next;

	if (first == DRY_TINY_NIL)
		return true;
	if (first->key - DRY_TINY_KEY > slab->carved || !goes_on(slab, next))
		return false;
	return first->key == (next != NULL ? next->key : DRY_TINY_KEY) + 1;
}

/* Its pages' entries in the map, but for those that are too far from its start; how many pages it has. */
static size_t map_slab(const struct dry_slab *slab, unsigned none)
{
	uint16_t *map = dry_map_of(slab->class->heap, slab);
	size_t pages = dry_tiny_slab_pages(slab->class, slab->objects), marks = dry_map_marks(slab->class);

	for (size_t i = 0; i < pages && i < marks; i++)
		map[i] = (uint16_t)(i | none);
	return pages;
}

/* Link objects that were never used, onto an empty list: all if they have to be constructed. */
static void carve(struct dry_slab *slab)
{
	const struct dry_class *class = slab->class;
	unsigned n = slab->objects - slab->carved;
	struct dry_object *next = NULL, *object;
	uintptr_t key = DRY_TINY_KEY;
	char *at;

	if (n > DRY_TINY_CARVE && class->ctor == NULL)
		n = DRY_TINY_CARVE;
	slab->carved = (uint16_t)(slab->carved + n);
	if (slab->emptied != DRY_TINY_SPARE)
		slab->emptied += n;
	/* from the last one, so that they are handed out in order */
	at = (char *)slab + class->first + slab->carved * (size_t)class->slot;
	do {
		at -= class->slot;
		if (class->ctor != NULL)
			class->ctor(at, class->arg);
		object = (struct dry_object *)(void *)(at + class->link);
		object->next = next;
		object->key = ++key;
		next = object;
	} while (--n != 0);
	slab->free = object;
}

static void slab_release(struct dry_slab *slab)
{
	struct dry_class *class = slab->class;

	if (class->last == slab)
		class->last = NULL;
	class->slabs--;
	class->objects -= slab->objects;
	list_remove(slab);
	dry_pages_free(class->heap, slab, map_slab(slab, DRY_MAP_NONE));
}

/* A slab without a linked object has more objects from now on. */
static struct dry_slab *slab_resize(struct dry_slab *slab, size_t objects)
{
	struct dry_class *class = slab->class;

	class->objects += (uint32_t)objects - slab->objects;
	slab->objects = (uint16_t)objects;
	map_slab(slab, 0);
	carve(slab);
	dry_link_insert(&slab->list, &class->list);
	return slab;
}

/* The last slab grows by at least one object. */
static struct dry_slab *slab_extend(struct dry_class *class)
{
	struct dry_slab *slab = class->last;
	size_t pages, more;

	if (slab == NULL)
		return NULL;
	pages = dry_tiny_slab_pages(class, slab->objects);
	more = dry_tiny_slab_pages(class, slab->objects + 1u);
	if (more > dry_tiny_slab_most(class) || !dry_pages_extend(class->heap, slab, pages, more - pages))
		return NULL;
	return slab_resize(slab, dry_tiny_slab_room(class, more));
}

/* A slab that cannot grow later has a few pages more from the start, if each then holds more than a quarter more objects. */
static size_t tight(const struct dry_class *class, size_t pages, size_t most)
{
	for (size_t more = pages + 1; more <= most; more++)
		if (4 * dry_tiny_slab_room(class, more) * pages > 5 * dry_tiny_slab_room(class, pages) * more)
			pages = more;
	return pages;
}

static struct dry_slab *slab_create(struct dry_class *class, size_t objects)
{
	size_t most = dry_tiny_slab_most(class), pages = most;
	struct dry_slab *slab;

	if (objects < dry_tiny_slab_room(class, most)) /* else their bytes may be more than a size_t holds */
		pages = dry_tiny_slab_pages(class, objects);
	if (!DRY_TINY_EXTENDS)
		pages = tight(class, pages, most);
	for (;;) {
		objects = dry_tiny_slab_room(class, pages);
		slab = dry_pages_alloc(class->heap, dry_tiny_slab_pages(class, objects), class->align);
		if (slab != NULL)
			break;
		if (most == 0)
			return NULL;
		/* once more, with as little as will do */
		dry_tiny_spares_free(class->heap);
		pages = dry_tiny_slab_pages(class, 1);
		most = 0;
	}
	slab->class = class;
	slab->emptied = DRY_TINY_KEY;
	slab->carved = slab->objects = 0;
	class->last = slab;
	class->slabs++;
	return slab_resize(slab, objects);
}

static bool is_empty(const struct dry_slab *slab)
{
	return dry_tiny_slab_free(slab) == slab->carved;
}

/* A slab (or none) is kept, in place of another that is given back if it is empty still. */
static void spare_put(struct dry_heap *heap, struct dry_slab *slab)
{
	struct dry_slab *old = heap->spares[DRY_TINY_SPARES - 1];

	for (unsigned i = DRY_TINY_SPARES - 1; i != 0; i--)
		heap->spares[i] = heap->spares[i - 1];
	heap->spares[0] = slab;
	if (old == NULL)
		return;
	old->emptied = DRY_TINY_KEY + old->carved;
	if (is_empty(old))
		slab_release(old);
}

void dry_tiny_spares_free(struct dry_heap *heap)
{
	for (unsigned i = 0; i < DRY_TINY_SPARES; i++)
		spare_put(heap, NULL);
}

/* A slab has no used object left: it goes to the list's end and is kept. */
static void slab_emptied(struct dry_slab *slab)
{
	list_remove(slab);
	dry_link_insert(&slab->list, slab->class->list.prev);
	slab->emptied = DRY_TINY_SPARE;
	spare_put(slab->class->heap, slab);
}

/* ---- allocation ------------------------------------------------------------------------------ */

static inline struct dry_slab *first_slab(struct dry_class *class)
{
	return (struct dry_slab *)(void *)class->list.next;
}

void *dry_tiny_object_alloc(struct dry_class *class)
{
	struct dry_slab *slab = first_slab(class);
	struct dry_object *object = slab->free;

	if (object == DRY_TINY_NIL) {
		slab = slab_extend(class);
		if (slab == NULL)
			slab = slab_create(class, class->objects / DRY_TINY_SHARE + 1);
		if (slab == NULL)
			return NULL;
		object = slab->free;
	}
	if (DRY_TINY_CHECK_LINKS && !first_holds(slab))
		dry_tiny_bad_link(class, object);
	slab->free = object->next;
	object->key = 0;
	if (object->next == NULL) {
		slab->free = DRY_TINY_NIL;
		if (slab->carved < slab->objects)
			carve(slab);
		else
			list_remove(slab);
	}
	return (char *)object - class->link;
}

static DRY_SLOW void *cache_alloc_slow(struct dry_cache *cache)
{
	if (cache->owner.class != DRY_TINY_DEAD)
		return dry_tiny_object_alloc(cache->owner.class);
	dry_tiny_bad_pointer(&cache->owner, cache);
	return NULL;
}

/* The hit: an object that is not its slab's last linked one. */
DRY_FAST void *cache_alloc(struct dry_cache *cache)
{
	struct dry_slab *slab = first_slab(cache->owner.class);
	struct dry_object *object = slab->free, *next = object->next;

	if (DRY_UNLIKELY(DRY_TINY_CHECK_LINKS || next == NULL))
		return cache_alloc_slow(cache);
	object->key = (uintptr_t)next; /* anything but a key */
	slab->free = next;
	return (char *)object - slab->class->link;
}

/* ---- free ------------------------------------------------------------------------------------- */

static inline struct dry_slab *slab_at(const struct dry_pool *pool, const void *object, uintptr_t back)
{
	return (struct dry_slab *)((((uintptr_t)object >> pool->shift) - back) << pool->shift);
}

/* Only called for an object that carries a free one's key. */
static DRY_SLOW bool is_free(const struct dry_slab *slab, const struct dry_object *object)
{
	const struct dry_object *at = slab->free;

	for (unsigned n = slab->carved; at != NULL && n != 0; n--, at = at->next) { /* nil has no next */
		if (at == object)
			return true;
		if (DRY_TINY_CHECK_LINKS && !goes_on(slab, at->next))
			dry_tiny_bad_link(slab->class, at);
	}
	return false;
}

size_t dry_tiny_object_size(const struct dry_slab *slab, const void *object)
{
	const struct dry_class *class = slab->class;
	size_t offset = (size_t)((const char *)object - (const char *)slab) - class->first;
	const struct dry_object *link = (const struct dry_object *)(const void *)((const char *)object + class->link);

	if (offset / class->slot >= slab->carved || offset % class->slot != 0 ||
	    ((intptr_t)link->key >= (intptr_t)DRY_TINY_KEY && is_free(slab, link)))
		return 0;
	return class->slot;
}

/* The rest of a free: the slab's first free object, or its last used one, or one that looks as if it were free. */
static DRY_SLOW void free_slow(const struct dry_owner *owner, void *object, struct dry_slab *slab)
{
	struct dry_class *class = slab->class;
	struct dry_object *link = (struct dry_object *)(void *)((char *)object + class->link), *next = slab->free;
	uintptr_t key = next->key + 1;

	if ((intptr_t)link->key >= (intptr_t)DRY_TINY_KEY && is_free(slab, link)) {
		dry_tiny_bad_pointer(owner, object);
		return;
	}
	if (next == DRY_TINY_NIL) {
		/* at the end: by its turn more of it is free, and calls at either end of a list are rare */
		dry_link_insert(&slab->list, class->list.prev);
		key = DRY_TINY_KEY + 1;
		next = NULL;
	}
	link->next = next;
	link->key = key;
	slab->free = link;
	if (key == slab->emptied)
		slab_emptied(slab);
}

/* Every pointer is verified. The hit, as short as can be, is a pointer into the first pool. */
void dry_tiny_object_free(const struct dry_owner *owner, void *object)
{
	const struct dry_class *class = owner->class;
	const struct dry_pool *pool = &owner->heap->pool;
	struct dry_object *link, *next;
	struct dry_slab *slab;
	size_t offset, back;
	uintptr_t key;

	while (DRY_UNLIKELY((uintptr_t)object - pool->base >= pool->bytes)) {
		pool = pool->next;
		if (pool == NULL)
			goto bad;
	}
	back = *dry_map_entry(pool, object);
	if (DRY_UNLIKELY(back >= DRY_MAP_BLOCK))
		goto bad;
	slab = slab_at(pool, object, back);
	if (DRY_UNLIKELY(slab->class != class))
		goto bad;
	offset = (size_t)((char *)object - (char *)slab) - class->first;
	if (DRY_UNLIKELY(offset / class->slot >= slab->carved || offset % class->slot != 0))
		goto bad;
	link = (struct dry_object *)(void *)((char *)object + class->link);
	DRY_OPAQUE_POINTER(link);
	next = slab->free;
	if (DRY_TINY_CHECK_LINKS && !first_holds(slab))
		dry_tiny_bad_link(class, next);
	key = next->key + 1;
	if (DRY_LIKELY((intptr_t)link->key < (intptr_t)DRY_TINY_KEY && key < slab->emptied)) {
		*link = (struct dry_object){ next, key };
		slab->free = link;
		return;
	}
	free_slow(owner, object, slab);
	DRY_NO_TAIL_CALL();
	return;
bad:
	if (object != NULL)
		dry_tiny_bad_pointer(owner, object);
	DRY_NO_TAIL_CALL();
}

/* ---- the whole class -------------------------------------------------------------------------- */

/* Objects of a slab that are not used. */
static unsigned unused(const struct dry_slab *slab)
{
	return dry_tiny_slab_free(slab) + slab->objects - slab->carved;
}

size_t dry_tiny_class_used(const struct dry_class *class)
{
	size_t used = class->objects;

	for (const struct dry_link *link = class->list.next; link != &class->list; link = link->next)
		used -= unused((const struct dry_slab *)(const void *)link);
	return used;
}

/*
 * Besides spares, only slabs that were reserved and never used are empty. They stand together at the list's head, behind a used one
 * for each time that some were reserved: so it is not looked further than LOOK used ones.
 */
size_t dry_tiny_class_shrink(struct dry_class *class)
{
	size_t before = class->slabs;
	unsigned look = DRY_TINY_LOOK;
	struct dry_link *link, *next;

	dry_tiny_spares_free(class->heap);
	for (link = class->list.next; link != &class->list && look != 0; link = next) {
		next = link->next;
		if (is_empty((struct dry_slab *)(void *)link))
			slab_release((struct dry_slab *)(void *)link);
		else
			look--;
	}
	return before - class->slabs;
}

bool dry_tiny_class_reserve(struct dry_class *class, size_t n)
{
	const struct dry_link *link;
	size_t free = 0, made = 0;

	/* what is kept only until memory is short does not count */
	dry_tiny_spares_free(class->heap);
	for (link = class->list.next; link != &class->list && free < n; link = link->next)
		free += unused((const struct dry_slab *)(const void *)link);
	for (; free < n; made++) {
		struct dry_slab *slab = slab_create(class, n - free);

		if (slab == NULL) {
			for (; made != 0; made--)
				slab_release(first_slab(class));
			return false;
		}
		free += slab->objects;
	}
	return true;
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
	dry_tiny_object_free(&cache->owner, object);
	dry_tiny_unlock();
}
