/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Verification of a heap: every map entry, slab, list and free object. It follows no pointer before it has seen
 * where it leads, so that it names the damage in a heap of any content, and stops there.
 */
#include "base/bits.h"
#include "base/error.h"
#include "tiny/pages.h"

struct check {
	struct dry_heap *heap;
	const struct dry_class *only; /* or NULL */
	const char *wrong;	      /* the first inconsistency */
	const void *where;
	size_t used; /* pages seen in slabs and blocks */
};

static bool expect(struct check *check, bool holds, const char *what, const void *where)
{
	if (!holds && check->wrong == NULL) {
		check->wrong = what;
		check->where = where;
	}
	return holds;
}

/* A pointer to something of this size and alignment inside of the heap's memory. */
static bool inside(struct dry_heap *heap, const void *address, size_t bytes)
{
	const struct dry_pool *pool = dry_pool_of(heap, address);

	return pool != NULL && (uintptr_t)address % sizeof(void *) == 0 &&
	       pool->base + pool->bytes - (uintptr_t)address >= bytes;
}

static bool known(struct dry_heap *heap, const struct dry_class *class)
{
	const struct dry_class *at = heap->classes;

	while (at != NULL && at != class)
		at = at->older;
	return at != NULL;
}

/* The address is that of an object of the slab that was linked once. */
static bool is_link(const struct dry_slab *slab, const struct dry_object *object)
{
	size_t offset = (size_t)((const char *)object - (const char *)slab) - slab->class->first - slab->class->link;

	return offset % slab->class->slot == 0 && offset / slab->class->slot < slab->carved;
}

static bool check_free_objects(struct check *check, const struct dry_slab *slab)
{
	const struct dry_object *object = slab->class->ctor != NULL ? slab->built[0] : slab->list.free;
	bool none = object == DRY_TINY_NIL;
	size_t left = none ? 0 : is_link(slab, object) ? object->key - DRY_TINY_KEY : 1;

	if (!expect(check, left <= slab->carved, "a free object was written to", object))
		return false;
	for (object = none ? NULL : object; object != NULL; object = object->next, left--) {
		if (!expect(check, is_link(slab, object), "a free object's link leads out of its slab", slab) ||
		    !expect(check, object->key == DRY_TINY_KEY + left, "a free object was written to", object))
			return false;
	}
	return expect(check, left == 0, "a free object was written to", slab);
}

static bool is_spare(const struct dry_heap *heap, const struct dry_slab *slab)
{
	for (unsigned i = 0; i < DRY_TINY_SPARES; i++)
		if (heap->spares[i] == slab)
			return slab->emptied == UINTPTR_MAX;
	return false;
}

/* The pages of a good slab; 0 if it is not. */
static size_t check_slab(struct check *check, const struct dry_pool *pool, size_t page)
{
	struct dry_heap *heap = check->heap;
	const struct dry_slab *slab = (const struct dry_slab *)(pool->base + (page << heap->shift));
	const struct dry_class *class = slab->class;
	const uint16_t *map = dry_map_entry(heap, pool, pool->base);
	size_t pages, marks;

	if (!expect(check, known(heap, class), "a slab's class is none of the heap's", slab))
		return 0;
	pages = dry_pages_for(heap, class->first + slab->objects * (size_t)class->slot);
	if (!expect(check, slab->objects != 0 && pages <= (pool->bytes >> heap->shift) - page, "a slab's size", slab) ||
	    !expect(check, slab->carved != 0 && slab->carved <= slab->objects, "a slab's counts", slab) ||
	    !expect(check, slab->emptied == DRY_TINY_KEY + slab->carved || is_spare(heap, slab), "a slab's counts", slab))
		return 0;
	marks = dry_tiny_slab_marks(class, slab->objects);
	for (size_t i = 1; i < pages; i++)
		if (!expect(check, map[page + i] == (i < marks ? i : DRY_MAP_NONE), "a map entry inside of a slab",
			    map + page + i))
			return 0;
	if (!check_free_objects(check, slab))
		return 0;
	if (dry_tiny_slab_free(slab) == 0)
		return expect(check, slab->carved == slab->objects, "a slab without a linked object has more", slab) ? pages : 0;
	if (!expect(check, slab->list.prev == &class->list || inside(heap, slab->list.prev, sizeof(struct dry_link)),
		    "a slab's link back", slab) ||
	    !expect(check, slab->list.prev->next == &slab->list, "a slab with free objects is not on its list", slab))
		return 0;
	return pages;
}

/* A block or free run: its pages; 0 if it is not. */
static size_t check_run(struct check *check, const struct dry_pool *pool, size_t page)
{
	const uint16_t *map = dry_map_entry(check->heap, pool, pool->base);
	size_t count = pool->bytes >> check->heap->shift, pages = dry_map_block(map[page]);
	bool block = pages != 0;

	if (!block)
		pages = dry_map_free(map[page]);
	if (!expect(check, pages != 0 && pages <= count - page, "a map entry", map + page))
		return 0;
	for (size_t i = 1; i < pages; i++) {
		bool end = !block && i == pages - 1;

		if (!expect(check, map[page + i] == (end ? map[page] : DRY_MAP_NONE),
			    "a map entry inside of a block or free run", map + page + i))
			return 0;
	}
	if (!block && page + pages < count &&
	    !expect(check, dry_map_free(map[page + pages]) == 0, "two free runs are neighbours", map + page))
		return 0;
	return pages;
}

static void check_pool(struct check *check, const struct dry_pool *pool)
{
	const uint16_t *map = dry_map_entry(check->heap, pool, pool->base);
	size_t pages;

	for (size_t page = 0; page < pool->bytes >> check->heap->shift; page += pages) {
		bool slab = map[page] == 0, free = dry_map_free(map[page]) != 0;

		pages = slab ? check_slab(check, pool, page) : check_run(check, pool, page);
		if (pages == 0)
			return;
		if (!free)
			check->used += pages;
	}
}

/* Every free run is on its list, and nothing else is. */
static void check_bins(struct check *check)
{
	struct dry_heap *heap = check->heap;
	size_t all = 0;

	for (const struct dry_pool *pool = &heap->pool; pool != NULL; pool = pool->next)
		all += pool->bytes >> heap->shift;
	for (unsigned bin = 0; bin < DRY_TINY_BINS; bin++) {
		const struct dry_run *back = NULL;

		for (const struct dry_run *run = heap->bins[bin]; run != NULL; back = run, run = run->next) {
			struct dry_pool *pool;
			size_t pages;

			if (!expect(check, inside(heap, run, sizeof(*run)), "a free run's link leads out of the heap", back) ||
			    !expect(check, run->prev == back, "a free run's link back", run))
				return;
			pool = dry_pool_of(heap, run);
			pages = dry_map_free(*dry_map_entry(heap, pool, (uintptr_t)run));
			if (!expect(check, pages != 0 && dry_log2_floor(pages) == bin && pages <= all, "a free run's list", run))
				return;
			all -= pages;
		}
	}
	expect(check, all == check->used && all == heap->pages_used, "free runs and used pages are not all", heap);
}

/* A slab of the class begins here. */
static bool is_slab(struct dry_heap *heap, const void *address, const struct dry_class *class)
{
	const struct dry_slab *slab = dry_tiny_slab_of(heap, address);

	return slab != NULL && (const void *)slab == address && slab->class == class;
}

/* The lists and sums of a class; its slabs are good. */
static void check_class(struct check *check, const struct dry_class *class)
{
	const struct dry_link *link = class->list.next;
	const struct dry_slab *slab;
	size_t objects = 0, slabs = 0, listed = 0;

	for (; link != &class->list; link = link->next, listed++)
		if (!expect(check, is_slab(check->heap, link, class) && listed < class->slabs,
			    "a class's list leads to what is no slab of it", class))
			return;
	for (const struct dry_pool *pool = &check->heap->pool; pool != NULL; pool = pool->next) {
		for (size_t page = 0; page < pool->bytes >> check->heap->shift; page++) {
			slab = (const struct dry_slab *)(pool->base + (page << check->heap->shift));
			if (*dry_map_entry(check->heap, pool, (uintptr_t)slab) != 0 || slab->class != class)
				continue;
			slabs++;
			objects += slab->objects;
			listed -= dry_tiny_slab_free(slab) != 0;
		}
	}
	expect(check, slabs == class->slabs, "a class's number of slabs", class);
	expect(check, objects == class->objects, "a class's number of objects", class);
	expect(check, listed == 0, "a class's list has not all slabs with free objects", class);
}

static int verdict(const struct check *check)
{
	if (check->wrong == NULL)
		return 0;
	dry_tiny_wrong(check->wrong, check->where);
	return -DRY_EFAULT;
}

static int check_all(struct dry_heap *heap, const struct dry_class *only)
{
	struct check check = { .heap = heap };
	const struct dry_class *class;

	/* Classes first: the slabs are judged by them. */
	for (class = heap->classes; class != NULL; class = class->older)
		if (!expect(&check, class == &heap->classes_of || inside(heap, class, sizeof(*class)),
			    "the list of classes", class) ||
		    !expect(&check, class->heap == heap && class->slot != 0, "a class", class))
			return verdict(&check);
	for (const struct dry_pool *pool = &heap->pool; pool != NULL && check.wrong == NULL; pool = pool->next)
		check_pool(&check, pool);
	if (check.wrong == NULL)
		check_bins(&check);
	for (class = heap->classes; class != NULL && check.wrong == NULL; class = class->older)
		if (only == NULL || only == class)
			check_class(&check, class);
	return verdict(&check);
}

int dry_heap_check(dry_heap *heap)
{
	int status = 0;

	dry_tiny_lock();
	heap = dry_tiny_heap(heap);
	if (heap != NULL)
		status = check_all(heap, NULL);
	dry_tiny_unlock();
	return status;
}

int dry_cache_check(dry_cache *cache)
{
	int status;

	dry_tiny_lock();
	status = check_all(cache->class->heap, cache->class);
	dry_tiny_unlock();
	return status;
}
