/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Verification of a heap: every map entry, slab, list and free object. It follows no pointer before it has seen
 * where it leads, so that it names the damage in a heap of any content, and stops there.
 */
#include "base/bits.h"
#include "base/error.h"
#include "tiny/check.h"

bool dry_check_expect(struct dry_check *check, bool holds, const char *what, const void *where)
{
	if (!holds && check->wrong == NULL) {
		check->wrong = what;
		check->where = where;
	}
	return holds;
}

/* A pointer to something of this size and alignment inside of the heap's memory. */
bool dry_check_inside(struct dry_heap *heap, const void *address, size_t bytes)
{
	const struct dry_pool *pool = dry_pool_of(heap, address);

	return pool != NULL && (uintptr_t)address % sizeof(void *) == 0 &&
	       pool->base + pool->bytes - (uintptr_t)address >= bytes;
}

bool dry_check_known(struct dry_heap *heap, const struct dry_class *class)
{
	const struct dry_class *at = heap->classes;

	while (at != NULL && at != class)
		at = at->older;
	return at != NULL;
}

/* A block or free run: its pages; 0 if it is not. */
static size_t check_run(struct dry_check *check, const struct dry_pool *pool, size_t page)
{
	const uint16_t *map = dry_map_entry(check->heap, pool, pool->base);
	size_t count = pool->bytes >> check->heap->shift, pages = dry_map_block(map[page]);
	bool block = pages != 0;

	if (!block)
		pages = dry_map_free(map[page]);
	if (!dry_check_expect(check, pages != 0 && pages <= count - page, "a map entry", map + page))
		return 0;
	for (size_t i = 1; i < pages; i++) {
		bool end = !block && i == pages - 1;

		if (!dry_check_expect(check, map[page + i] == (end ? map[page] : DRY_MAP_NONE),
			    "a map entry inside of a block or free run", map + page + i))
			return 0;
	}
	if (!block && page + pages < count &&
	    !dry_check_expect(check, dry_map_free(map[page + pages]) == 0, "two free runs are neighbours", map + page))
		return 0;
	return pages;
}

static void check_pool(struct dry_check *check, const struct dry_pool *pool)
{
	const uint16_t *map = dry_map_entry(check->heap, pool, pool->base);
	size_t pages;

	for (size_t page = 0; page < pool->bytes >> check->heap->shift; page += pages) {
		bool slab = map[page] == 0, free = dry_map_free(map[page]) != 0;

		pages = slab ? dry_check_slab(check, pool, page) : check_run(check, pool, page);
		if (pages == 0)
			return;
		if (!free)
			check->used += pages;
	}
}

/* Every free run is on its list, and nothing else is. */
static void check_bins(struct dry_check *check)
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

			if (!dry_check_expect(check, dry_check_inside(heap, run, sizeof(*run)),
					      "a free run's link leads out of the heap", back) ||
			    !dry_check_expect(check, run->prev == back, "a free run's link back", run))
				return;
			pool = dry_pool_of(heap, run);
			pages = dry_map_free(*dry_map_entry(heap, pool, (uintptr_t)run));
			if (!dry_check_expect(check, pages != 0 && dry_log2_size(pages) == bin && pages <= all,
					      "a free run's list", run))
				return;
			all -= pages;
		}
	}
	dry_check_expect(check, all == check->used && all == heap->pages_used, "free runs and used pages are not all", heap);
}

static int verdict(const struct dry_check *check)
{
	if (check->wrong == NULL)
		return 0;
	dry_tiny_wrong(check->wrong, check->where);
	return -DRY_EFAULT;
}

/* Classes and caches, by which the rest is judged. */
static bool check_lists(struct dry_check *check)
{
	struct dry_heap *heap = check->heap;
	size_t left = UINT16_MAX;

	for (const struct dry_class *class = heap->classes; class != NULL; class = class->older)
		if (!dry_check_expect(check, left-- != 0 && (class == &heap->classes_of ||
							     dry_check_inside(heap, class, sizeof(*class))),
				      "the list of classes", class) ||
		    !dry_check_expect(check, class->heap == heap && class->slot != 0 && class->align_log2 < 32, "a class", class))
			return false;
	for (const struct dry_cache *cache = heap->names; cache != NULL; cache = cache->next)
		if (!dry_check_expect(check, left-- != 0 && dry_check_inside(heap, cache, sizeof(*cache)),
				      "the list of caches", cache) ||
		    !dry_check_expect(check, cache->heap == heap && dry_check_known(heap, cache->class), "a cache", cache))
			return false;
	for (const struct dry_class *class = heap->classes; class != NULL; class = class->older) {
		size_t names = 0;

		for (const struct dry_cache *cache = heap->names; cache != NULL; cache = cache->next)
			names += cache->class == class;
		if (!dry_check_expect(check, names == class->names, "a class's number of caches", class))
			return false;
	}
	return true;
}

static int check_all(struct dry_heap *heap, const struct dry_class *only)
{
	struct dry_check check = { .heap = heap };

	if (!check_lists(&check))
		return verdict(&check);
	for (const struct dry_pool *pool = &heap->pool; pool != NULL && check.wrong == NULL; pool = pool->next)
		check_pool(&check, pool);
	if (check.wrong == NULL)
		check_bins(&check);
	for (const struct dry_class *class = heap->classes; class != NULL && check.wrong == NULL; class = class->older)
		if (only == NULL || only == class)
			dry_check_class(&check, class);
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
