/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The listing of /proc/slabinfo, version 2.1: the format that people's tools read. */
#include "base/fmt.h"
#include "core/walk.h"
#include "heap/heap.h"

struct listing {
	void (*write)(void *, const char *, size_t);
	void *arg;
};

static int list_cache(dry_cache *cache, void *arg)
{
	const struct listing *listing = arg;
	struct dry_cache_stats s;
	char line[256], name[64];

	if (cache->root != cache || dry_cache_stats(cache, &s) != 0)
		return 0;
	dry_format_name(name, sizeof(name), s.name);
	size_t length = dry_format(line, sizeof(line),
				   "%-17s %6zu %6zu %6zu %4u %4u : tunables %4u %4u %4u"
				   " : slabdata %6zu %6zu %6zu\n",
				   name, s.active_objects, s.objects, s.stride, s.objects_per_slab, s.pages_per_slab,
				   s.limit, s.batchcount, s.shared, s.active_slabs, s.slabs, s.shared_objects);
	listing->write(listing->arg, line, length);
	return 0;
}

DRY_EXPORT void dry_heap_slabinfo(dry_heap *heap, void (*write)(void *, const char *, size_t), void *arg)
{
	static const char header[] =
		"slabinfo - version: 2.1\n"
		"# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab>"
		" : tunables <limit> <batchcount> <sharedfactor>"
		" : slabdata <active_slabs> <num_slabs> <sharedavail>\n";
	struct listing listing = { write, arg };

	heap = dry_heap_get(heap);
	if (heap == NULL)
		return;
	write(arg, header, sizeof(header) - 1);
	dry_caches_walk(&heap->caches, list_cache, &listing);
}
