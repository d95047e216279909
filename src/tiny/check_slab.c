/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Verification of slabs and classes. */
#include "base/bits.h"
#include "tiny/check.h"

/* The address is that of an object of the slab that was linked once. */
static bool is_link(const struct dry_slab *slab, const struct dry_object *object)
{
	size_t offset = (size_t)((const char *)object - (const char *)slab) - slab->class->first - slab->class->link;

	return offset % slab->class->slot == 0 && offset / slab->class->slot < slab->carved;
}

static bool check_free_objects(struct dry_check *check, const struct dry_slab *slab)
{
	const struct dry_object *object = slab->free;
	bool none = object == DRY_TINY_NIL;
	size_t left = none ? 0 : is_link(slab, object) ? object->key - DRY_TINY_KEY : 1;

	if (!dry_check_expect(check, left <= slab->carved, "a free object was written to", object))
		return false;
	for (object = none ? NULL : object; object != NULL; object = object->next, left--) {
		if (!dry_check_expect(check, is_link(slab, object), "a free object's link leads out of its slab", slab) ||
		    !dry_check_expect(check, object->key == DRY_TINY_KEY + left, "a free object was written to", object))
			return false;
	}
	return dry_check_expect(check, left == 0, "a free object was written to", slab);
}

static bool is_spare(const struct dry_heap *heap, const struct dry_slab *slab)
{
	for (unsigned i = 0; i < DRY_TINY_SPARES; i++)
		if (heap->spares[i] == slab)
			return slab->emptied == DRY_TINY_SPARE;
	return false;
}

/* The pages of a good slab; 0 if it is not. */
size_t dry_check_slab(struct dry_check *check, const struct dry_pool *pool, size_t page)
{
	struct dry_heap *heap = check->heap;
	const struct dry_slab *slab = (const struct dry_slab *)(pool->base + (page << heap->pool.shift));
	const struct dry_class *class = slab->class;
	const uint16_t *map = dry_map_entry(pool, (void *)pool->base);
	const struct dry_link *back;
	size_t pages;

	if (!dry_check_expect(check, dry_check_known(heap, class), "a slab's class is none of the heap's", slab))
		return 0;
	pages = dry_pages_for(heap, class->first + slab->objects * (size_t)class->slot);
	if (!dry_check_expect(check, slab->objects != 0 && pages <= (pool->bytes >> heap->pool.shift) - page,
			      "a slab's size", slab) ||
	    !dry_check_expect(check, slab->objects == dry_tiny_slab_room(class, pages), "a slab's number of objects", slab) ||
	    !dry_check_expect(check, slab->carved != 0 && slab->carved <= slab->objects, "a slab's counts", slab) ||
	    !dry_check_expect(check, slab->emptied == DRY_TINY_KEY + slab->carved || is_spare(heap, slab), "a slab's counts",
		    slab))
		return 0;
	for (size_t i = 1; i < pages; i++)
		if (!dry_check_expect(check, map[page + i] == (i < dry_map_marks(class) ? i : DRY_MAP_NONE),
			    "a map entry inside of a slab", map + page + i))
			return 0;
	if (!check_free_objects(check, slab))
		return 0;
	if (dry_tiny_slab_free(slab) == 0) {
		bool holds = slab->carved == slab->objects;

		return dry_check_expect(check, holds, "a slab without a linked object has more", slab) ? pages : 0;
	}
	back = slab->list.prev;
	if (!dry_check_expect(check, back == &class->list || dry_check_inside(heap, back, sizeof(*back)),
			      "a slab's link back", slab) ||
	    !dry_check_expect(check, back->next == &slab->list, "a slab with free objects is not on its list", slab))
		return 0;
	return pages;
}

static bool layout_holds(const struct dry_class *class)
{
	return class->first == dry_round_up(sizeof(struct dry_slab), class->align) && class->slot % class->align == 0 &&
	       (class->ctor != NULL || class->link == 0);
}

/* A slab of the class that has free objects begins here. */
static bool is_slab(struct dry_heap *heap, const void *address, const struct dry_class *class)
{
	const struct dry_slab *slab = dry_map_slab(heap, address);

	return slab != NULL && (const void *)slab == address && slab->class == class && dry_tiny_slab_free(slab) != 0;
}

/* The lists and sums of a class; its slabs are good. */
void dry_check_class(struct dry_check *check, const struct dry_class *class)
{
	const struct dry_link *link = class->list.next;
	const struct dry_slab *slab;
	size_t objects = 0, slabs = 0, listed = 0;

	dry_check_expect(check, class->free == DRY_TINY_NIL && layout_holds(class), "a class", class);
	for (; link != &class->list; link = link->next, listed++)
		if (!dry_check_expect(check, is_slab(check->heap, link, class) && listed < class->slabs,
				      "a class's list leads to what is no slab of it", class))
			return;
	if (listed == 0)
		dry_check_expect(check, class->list.prev == link, "a class's list", class);
	else
		dry_check_expect(check, is_slab(check->heap, class->list.prev, class) && class->list.prev->next == link,
				 "a class's list", class);
	slab = class->last;
	dry_check_expect(check, slab == NULL || (dry_map_slab(check->heap, slab) == slab && slab->class == class),
			 "a class's last slab", class);
	for (const struct dry_pool *pool = &check->heap->pool; pool != NULL; pool = pool->next) {
		for (size_t page = 0; page < pool->bytes >> check->heap->pool.shift; page++) {
			slab = (const struct dry_slab *)(pool->base + (page << check->heap->pool.shift));
			if (*dry_map_entry(pool, slab) != 0 || slab->class != class)
				continue;
			slabs++;
			objects += slab->objects;
			listed -= dry_tiny_slab_free(slab) != 0;
		}
	}
	dry_check_expect(check, slabs == class->slabs, "a class's number of slabs", class);
	dry_check_expect(check, objects == class->objects, "a class's number of objects", class);
	dry_check_expect(check, listed == 0, "a class's list has not all slabs with free objects", class);
}
