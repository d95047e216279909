/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The listing. Reads only. */
#include "base/fmt.h"
#include "base/memory.h"
#include "tiny/pages.h"
#include "tiny/reports.h"

#define TEXT(x)	 #x
#define VALUE(x) TEXT(x)

const char *dry_version(void)
{
	return VALUE(DRY_VERSION_MAJOR) "." VALUE(DRY_VERSION_MINOR) "." VALUE(DRY_VERSION_PATCH);
}

int dry_heap_for_each_cache(dry_heap *heap, int (*fn)(dry_cache *cache, void *arg), void *arg)
{
	union {
		struct dry_cache cache;
		char room[sizeof(struct dry_cache) + sizeof("kmalloc-4294967295")];
	} general;
	const struct dry_link *link;
	int result = 0;

	dry_tiny_lock();
	heap = dry_tiny_heap(heap);
	dry_tiny_unlock();
	if (heap == NULL)
		return 0;
	for (link = heap->classes; link != NULL && result == 0; link = link->next) {
		struct dry_class *class = DRY_CONTAINER(link, struct dry_class, classes);

		if ((class->flags & DRY_CLASS_KEPT) == 0)
			continue;
		/* seen as a cache for the time of the call */
		memset(&general, 0, sizeof(general));
		general.cache.owner.class = class;
		general.cache.owner.heap = heap;
		general.cache.size = class->slot;
		dry_format(general.cache.name, sizeof("kmalloc-4294967295"),
			   class == &heap->classes_of ? "kmem_cache" : "kmalloc-%zu", (size_t)class->slot);
		result = fn(&general.cache, arg);
	}
	for (link = heap->caches.next; link != &heap->caches && result == 0; link = link->next)
		result = fn(DRY_CONTAINER(link, struct dry_cache, owner.caches), arg);
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
	char line[256], name[64];

	dry_cache_stats(cache, &s);
	dry_format_name(name, sizeof(name), s.name);
	listing->write(listing->arg, line,
		       dry_format(line, sizeof(line),
				  "%-17s %6zu %6zu %6zu %4u %4u : tunables %4u %4u %4u"
				  " : slabdata %6zu %6zu %6zu\n",
				  name, s.active_objects, s.objects, s.stride, s.objects_per_slab,
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
