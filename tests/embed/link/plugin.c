/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A plug-in with a copy of the library of its own. */
#include <drystone/drystone.h>
#include <string.h>

dry_heap *plugin_heap(void);
int plugin_work(void);

dry_heap *plugin_heap(void)
{
	return dry_heap_default();
}

int plugin_work(void)
{
	struct dry_cache_attr attr;
	void *objects[300];
	dry_cache *cache;

	memset(&attr, 0, sizeof(attr));
	attr.name = "plugin";
	attr.size = 72;
	attr.flags = DRY_CACHE_NO_MERGE;
	cache = dry_cache_create(NULL, &attr);
	if (cache == NULL || dry_cache_alloc_bulk(cache, 300, objects) != 300)
		return 1;
	memset(objects[299], 7, 72);
	dry_cache_free_bulk(cache, 300, objects);
	return dry_cache_destroy(cache) != 0 || dry_heap_check(NULL) != 0;
}
