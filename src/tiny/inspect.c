/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Figures and the listing. Reads only; a program that calls none of it does not link this file. */
#include <string.h>

#include "base/error.h"
#include "base/fmt.h"
#include "tiny/pages.h"

#define TEXT(x)	 #x
#define VALUE(x) TEXT(x)

const char *dry_version(void)
{
	return VALUE(DRY_VERSION_MAJOR) "." VALUE(DRY_VERSION_MINOR) "." VALUE(DRY_VERSION_PATCH);
}

int dry_heap_stats(dry_heap *heap, struct dry_heap_stats *stats)
{
	dry_tiny_lock();
	heap = dry_tiny_heap(heap);
	if (heap != NULL) {
		memset(stats, 0, sizeof(*stats));
		/* all but free pages: what the heap keeps for itself has no other place either */
		stats->in_use = (size_t)heap->pages_used << heap->shift;
		for (const struct dry_pool *pool = &heap->pool; pool != NULL; pool = pool->next) {
			uintptr_t start = pool == &heap->pool ? (uintptr_t)heap : (uintptr_t)pool;

			stats->reserved += pool->base + pool->bytes - start;
			stats->in_use += pool->base - start;
		}
		stats->slots = 1;
		for (const struct dry_class *class = heap->classes; class != NULL; class = class->older)
			stats->caches += class->names != 0;
	}
	dry_tiny_unlock();
	return heap != NULL ? 0 : -DRY_ENOMEM;
}

static void cache_stats(const struct dry_cache *cache, struct dry_cache_stats *stats)
{
	const struct dry_class *class = cache->class;

	memset(stats, 0, sizeof(*stats));
	stats->name = cache->name;
	stats->object_size = cache->size;
	stats->slot_size = class->slot;
	stats->align = (size_t)1 << class->align_log2;
	stats->flags = cache->flags;
	stats->mgmt = DRY_MGMT_CHAIN;
	dry_tiny_class_figures(class, stats);
	stats->colours = 1;
	stats->aliases = class->names > 1 ? class->names - 1u : 0;
}

int dry_cache_stats(dry_cache *cache, struct dry_cache_stats *stats)
{
	dry_tiny_lock();
	cache_stats(cache, stats);
	dry_tiny_unlock();
	return 0;
}

int dry_heap_for_each_cache(dry_heap *heap, int (*fn)(dry_cache *cache, void *arg), void *arg)
{
	union {
		struct dry_cache cache;
		char room[sizeof(struct dry_cache) + sizeof("kmalloc")];
	} general;
	int result = 0;

	dry_tiny_lock();
	heap = dry_tiny_heap(heap);
	dry_tiny_unlock();
	if (heap == NULL)
		return 0;
	for (struct dry_class *class = heap->classes; class != NULL && result == 0; class = class->older) {
		if ((class->flags & DRY_CLASS_KEPT) == 0)
			continue;
		/* seen as a cache for the time of the call */
		memset(&general, 0, sizeof(general));
		general.cache.class = class;
		general.cache.size = class->slot;
		general.cache.heap = heap;
		memcpy(general.cache.name, "kmalloc", sizeof("kmalloc"));
		result = fn(&general.cache, arg);
	}
	for (struct dry_cache *cache = heap->names; cache != NULL && result == 0; cache = cache->next)
		result = fn(cache, arg);
	return result;
}

struct listing {
	void (*write)(void *arg, const char *text, size_t bytes);
	void *arg;
};

static int list_cache(dry_cache *cache, void *arg)
{
	const struct listing *listing = arg;
	struct dry_cache_stats s;
	char line[256], name[32];

	cache_stats(cache, &s);
	if ((cache->class->flags & DRY_CLASS_KEPT) != 0 && cache->class->names == 0) {
		bool classes = cache->class == &cache->class->heap->classes_of;

		dry_format(name, sizeof(name), classes ? "kmem_cache" : "kmalloc-%zu", s.slot_size);
		s.name = name;
	}
	listing->write(listing->arg, line,
		       dry_format(line, sizeof(line),
				  "%-17s %6zu %6zu %6zu %4u %4u : tunables %4u %4u %4u"
				  " : slabdata %6zu %6zu %6zu\n",
				  s.name, s.active_objects, s.objects, s.slot_size, s.objects_per_slab,
				  s.pages_per_slab, s.limit, s.batchcount, s.shared, s.active_slabs, s.slabs,
				  s.shared_objects));
	return 0;
}

void dry_heap_slabinfo(dry_heap *heap, void (*write)(void *arg, const char *text, size_t bytes), void *arg)
{
	static const char header[] = "slabinfo - version: 2.1\n"
				     "# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab>"
				     " : tunables <limit> <batchcount> <sharedfactor>"
				     " : slabdata <active_slabs> <num_slabs> <sharedavail>\n";
	struct listing listing = { write, arg };

	write(arg, header, sizeof(header) - 1);
	dry_heap_for_each_cache(heap, list_cache, &listing);
}

/* Debugging flags are refused here, so no cache keeps owners. */
void dry_heap_owners(dry_heap *heap, void (*write)(void *arg, const char *text, size_t bytes), void *arg,
		     size_t *objects, size_t *bytes)
{
	(void)heap;
	(void)write;
	(void)arg;
	if (objects != NULL)
		*objects = 0;
	if (bytes != NULL)
		*bytes = 0;
}
