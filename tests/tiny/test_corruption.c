/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What dry_heap_check() sees: each byte of a pool in turn is changed, in two ways, and the heap verified. Of the map, of
 * slabs' and classes' descriptors, and of the links in free memory, every byte that is not padding must be
 * seen; what else is free, and what the program holds, has no meaning to the heap. Nor does a slab whose list of free objects
 * begins further down: those before are lost, and nothing else. Prints how many of which were seen.
 */
#include <drystone/tiny.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>

#include "../support/exercise.h"
#include "tiny/pages.h"

enum { POOL = 16384 };

/* What a byte is of; all below MUST_BE_SEEN must be. */
enum part { MAP, SLAB, CLASS, CACHE, FREE_OBJECT, FREE_RUN, MUST_BE_SEEN, PADDING, NAME, FREE_REST, HELD, PARTS };
static const char *const names[PARTS] = {
	[MAP] = "map", [SLAB] = "slab descriptors", [CLASS] = "class descriptors", [CACHE] = "cache descriptors",
	[FREE_OBJECT] = "links of free objects", [FREE_RUN] = "links of free runs", [PADDING] = "padding, and links not in use",
	[NAME] = "names, flags, what was asked for", [FREE_REST] = "the rest of free memory", [HELD] = "held by the program",
};

static _Alignas(4096) unsigned char pool[POOL];
static unsigned char part_of[POOL];

static void mark(const void *at, size_t bytes, enum part part)
{
	memset(part_of + ((const unsigned char *)at - pool), part, bytes);
}

static void mark_slab(dry_heap *heap, const struct dry_slab *slab)
{
	const struct dry_class *class = slab->class;
	const struct dry_object *object = slab->free;

	mark(slab, dry_tiny_slab_pages(class, slab->objects) << heap->pool.shift, FREE_REST);
	mark((const char *)slab + class->first, class->slot * (size_t)slab->carved, HELD);
	mark(slab, class->first, PADDING);
	mark(slab, offsetof(struct dry_slab, objects) + sizeof(slab->objects), SLAB);
	if (slab->emptied == DRY_TINY_SPARE) /* of a slab that is kept while empty, this is the only word about it */
		mark(&slab->carved, sizeof(slab->carved), PADDING);
	if (object == DRY_TINY_NIL) /* on no list: what was its link means nothing */
		mark(&slab->list.next, sizeof(slab->list.next) * 2, PADDING);
	for (; object && object != DRY_TINY_NIL; object = object->next) {
		mark(object, class->slot, FREE_REST);
		mark(object, sizeof(*object), FREE_OBJECT);
	}
}

static void mark_pages(dry_heap *heap)
{
	const uint16_t *map = dry_map_entry(&heap->pool, (void *)heap->pool.base);
	size_t count = heap->pool.bytes >> heap->pool.shift;

	mark(map - 1, (count + 2) * sizeof(*map), MAP); /* with one at either end */
	for (size_t page = 0; page < count; page++) {
		char *at = (char *)heap->pool.base + (page << heap->pool.shift);

		if (map[page] == 0) {
			mark_slab(heap, (const struct dry_slab *)(const void *)at);
		} else if (dry_map_block(map[page])) {
			mark(at, dry_map_block(map[page]) << heap->pool.shift, HELD);
		} else if (dry_map_free(map[page]) && (page == 0 || !dry_map_free(map[page - 1]) || dry_map_free(map[page]) == 1)) {
			mark(at, dry_map_free(map[page]) << heap->pool.shift, FREE_REST);
			mark(at, sizeof(struct dry_link), FREE_RUN);
			page += dry_map_free(map[page]) - 1;
		}
	}
}

/* The heap's own head tells where all else is, and is not put to the test. */
static void mark_heap(dry_heap *heap)
{
	const struct dry_link *link;

	memset(part_of, PADDING, sizeof(part_of));
	mark_pages(heap);
	for (link = heap->classes; link != NULL; link = link->next) {
		const struct dry_class *class = DRY_CONTAINER(link, const struct dry_class, classes);

		if (class == &heap->classes_of)
			continue;
		mark(class, sizeof(*class), CLASS);
		mark(&class->arg, sizeof(class->arg), PADDING);
		mark(&class->ctor, sizeof(class->ctor), PADDING); /* only a slab can tell, if there is one */
		mark(&class->align, sizeof(class->align), NAME); /* and flags: they say how slabs and caches to come will be */
		mark(&class->flags, sizeof(class->flags), NAME);
		mark(&class->slot, sizeof(class->slot), class->slabs ? CLASS : NAME);
		mark(&class->last, sizeof(class->last), NAME); /* any slab of the class will do */
		mark(&class->flags + 1, offsetof(struct dry_class, objects) - offsetof(struct dry_class, flags) - 1, PADDING);
		if (sizeof(void *) == 8) {
			mark(&class->link + 1, (size_t)((char *)&class->ctor - (char *)(&class->link + 1)), PADDING);
			mark(&class->align + 1, (size_t)((char *)&class->classes - (char *)(&class->align + 1)), PADDING);
			mark(&class->slabs + 1, (size_t)((char *)&class->last - (char *)(&class->slabs + 1)), PADDING);
		}
	}
	for (link = heap->caches.next; link != &heap->caches; link = link->next) {
		const struct dry_cache *cache = DRY_CONTAINER(link, const struct dry_cache, owner.caches);

		mark(&cache->owner, sizeof(cache->owner), CACHE);
		mark(&cache->size, sizeof(cache->size), NAME);
		mark(&cache->flags, 1 + strlen(cache->name) + 1, NAME);
	}
}

static dry_heap *populate(struct rng *rng)
{
	struct dry_heap_attr attr = { .name = "pool", .memory = pool, .memory_size = sizeof(pool) };
	dry_heap *heap = dry_heap_create(&attr);
	static const size_t sizes[] = { 16, 24, 100, 300 };
	void *objects[4][12], *blocks[12];

	CHECK(heap);
	for (int k = 0; k < 4; k++) {
		dry_cache *cache = make_cache(heap, "cache", sizes[k], 0, k % 2 ? DRY_CACHE_NO_MERGE : 0);

		CHECK(cache && dry_cache_alloc_bulk(cache, 12, objects[k]) == 12);
		for (int i = 0; i < 12; i++) {
			CHECK(blocks[i] = dry_alloc(heap, rng_below(rng, 90) + (i == 3 ? 700 : 1)));
			memset(objects[k][i], 0x33, sizes[k]);
		}
		for (int i = 0; i < 12; i++) {
			if (rng_below(rng, 2))
				dry_cache_free(cache, objects[k][i]);
			if (i != 3 && rng_below(rng, 2))
				dry_free(heap, blocks[i]);
		}
	}
	CHECK_EQ(dry_heap_check(heap), 0);
	return heap;
}

/* The byte is of a slab's link to its first free object, and leads to a later one if it is changed so. */
static bool leads_further(dry_heap *heap, unsigned char *byte, unsigned char change)
{
	const struct dry_slab *slab = dry_map_slab(heap, byte);
	const struct dry_object *later, *object;

	if (part_of[byte - pool] != SLAB || slab == NULL)
		return false;
	*byte ^= change;
	later = slab->free;
	*byte ^= change;
	for (object = slab->free; object != NULL && object != DRY_TINY_NIL; object = object->next)
		if (object == later)
			return object != slab->free;
	return false;
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };
	unsigned seen[PARTS] = { 0 }, all[PARTS] = { 0 };
	dry_heap *heap = populate(&rng);
	int out = dup(2), null = open("/dev/null", O_WRONLY), failed = 0;

	mark_heap(heap);
	CHECK(null >= 0 && dup2(null, 2) == 2);
	for (size_t i = (size_t)((unsigned char *)dry_map_entry(&heap->pool, (void *)heap->pool.base) - pool) - 2; i < POOL; i++) {
		static const unsigned char changes[] = { 0x01, 0xff };

		for (int c = 0; c < 2; c++) {
			int status;

			if (leads_further(heap, pool + i, changes[c]))
				continue;
			pool[i] ^= changes[c];
			status = dry_heap_check(heap);
			pool[i] ^= changes[c];
			CHECK(status == 0 || status == -EFAULT);
			all[part_of[i]]++;
			seen[part_of[i]] += status != 0;
			if (part_of[i] < MUST_BE_SEEN && status == 0 && failed++ < 10)
				printf("not seen: %s, byte %zu, ^%#x\n", names[part_of[i]], i, changes[c]);
		}
	}
	CHECK(dup2(out, 2) == 2);
	for (int p = 0; p < PARTS; p++)
		if (names[p])
			printf("%-32s %6u of %6u changes seen\n", names[p], seen[p], all[p]);
	fflush(stdout);
	CHECK(all[MAP] && all[SLAB] && all[FREE_OBJECT] && all[FREE_RUN] && all[CLASS] && all[CACHE]);
	CHECK(seen[FREE_REST] == 0 && seen[HELD] == 0);
	CHECK_EQ(failed, 0);
	CHECK_EQ(dry_heap_check(heap), 0);
	return 0;
}
