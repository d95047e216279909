/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Verification of a heap: every map entry, slab, list and free object. It follows no pointer before it has seen
 * where it leads, so that it names the damage in a heap of any content, and stops there.
 */
#include "base/bits.h"
#include "base/error.h"
#include "tiny/check.h"
#include "tiny/reports.h"

/* A block or free run: its pages; 0 if it is not. */
static size_t check_run(struct dry_check *check, const struct dry_pool *pool, size_t page)
{
	const uint16_t *map = dry_map_entry(pool, (void *)pool->base);
	size_t count = pool->bytes >> check->heap->pool.shift, pages = dry_map_block(map[page]);
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
	const uint16_t *map = dry_map_entry(pool, (void *)pool->base);
	size_t count = pool->bytes >> check->heap->pool.shift, pages;

	/* a run at either end would be joined with what they say */
	if (!dry_check_expect(check, map[-1] == DRY_MAP_NONE && map[count] == DRY_MAP_NONE, "the ends of a map", map))
		return;
	for (size_t page = 0; page < count; page += pages) {
		bool slab = map[page] == 0, free = dry_map_free(map[page]) != 0;

		pages = slab ? dry_check_slab(check, pool, page) : check_run(check, pool, page);
		if (pages == 0)
			return;
		if (!free)
			check->used += pages;
	}
}

/* A link, or its list's head, leads to the end or to something of this size, and from there back. */
static bool check_link(struct dry_check *check, const struct dry_link *link, const struct dry_link *end, size_t offset,
		       size_t size, const char *what)
{
	const struct dry_link *next = link->next;
	const void *whole = (const void *)((uintptr_t)next - offset);
	bool inside = next == end || whole == &check->heap->classes_of || dry_check_inside(check->heap, whole, size);

	return dry_check_expect(check, inside && (next == NULL || next->prev == link), what, link);
}

/* Every free run is on its list, and nothing else is. */
static void check_bins(struct dry_check *check)
{
	struct dry_heap *heap = check->heap;
	size_t all = 0, free = 0;

	for (const struct dry_pool *pool = &heap->pool; pool != NULL; pool = pool->next)
		all += pool->bytes >> heap->pool.shift;
	for (unsigned bin = 0; bin < DRY_TINY_BINS; bin++) {
		const struct dry_link *run = (const struct dry_link *)(const void *)&heap->bins[bin];

		for (;; run = run->next) {
			size_t pages;

			if (!check_link(check, run, NULL, 0, sizeof(*run), "a free run's link"))
				return;
			if (run->next == NULL)
				break;
			pages = dry_map_free(*dry_map_of(heap, run->next));
			if (!dry_check_expect(check, pages != 0 && dry_log2_size(pages) == bin && pages <= all - free,
					      "a free run's list", run->next))
				return;
			free += pages;
		}
	}
	dry_check_expect(check, free + check->used == all && free == heap->pages_free, "free runs and used pages are not all",
			 heap);
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
	const struct dry_link *link;
	size_t names = 0;

	for (link = (const struct dry_link *)(const void *)&heap->classes;; link = link->next) {
		const struct dry_class *class;

		if (!check_link(check, link, NULL, offsetof(struct dry_class, classes), sizeof(*class),
				"the list of classes"))
			return false;
		if (link->next == NULL)
			break;
		class = DRY_CONTAINER(link->next, const struct dry_class, classes);
		if (!dry_check_expect(check, class->heap == heap && class->slot != 0 && dry_is_pow2(class->align), "a class",
			    class))
			return false;
	}
	for (link = &heap->caches;; link = link->next) {
		const struct dry_cache *cache;

		if (!check_link(check, link, &heap->caches, offsetof(struct dry_cache, owner.caches), sizeof(*cache),
				"the list of caches"))
			return false;
		if (link->next == &heap->caches)
			break;
		cache = DRY_CONTAINER(link->next, const struct dry_cache, owner.caches);
		names++;
		if (!dry_check_expect(check, cache->owner.heap == heap && dry_check_known(heap, cache->owner.class), "a cache",
			    cache))
			return false;
	}
	for (link = heap->classes; link != NULL; link = link->next) {
		const struct dry_class *class = DRY_CONTAINER(link, const struct dry_class, classes);
		size_t own = 0;

		for (const struct dry_link *at = heap->caches.next; at != &heap->caches; at = at->next)
			own += DRY_CONTAINER(at, const struct dry_cache, owner.caches)->owner.class == class;
		if (!dry_check_expect(check, own == class->names, "a class's number of caches", class))
			return false;
		names -= own;
	}
	return dry_check_expect(check, names == 0, "the list of caches", heap);
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
	for (const struct dry_link *link = heap->classes; link != NULL && check.wrong == NULL; link = link->next) {
		const struct dry_class *class = DRY_CONTAINER(link, const struct dry_class, classes);

		if (only == NULL || only == class)
			dry_check_class(&check, class);
	}
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
	status = check_all(cache->owner.heap, cache->owner.class);
	dry_tiny_unlock();
	return status;
}
