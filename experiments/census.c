/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Census: which management type each cache of a population gets, and what that
 * wastes, under three sets of rules. The caches are made, in drystone, one by one; no
 * object is allocated. Standard input: one cache a line,
 *
 *     name <tab> object size <tab> alignment <tab> letters
 *
 * letters: c constructor, r type-safe by RCU, s smallest slab that holds an object.
 */
#include <drystone/experiment.h>
#include "worker.h"

#include <string.h>

static const struct {
	const char *name;
	unsigned flags;
} variants[] = {
	{ "before", DRY_CACHE_PUBLISHED_2015 },
	{ "objfreelist", DRY_CACHE_PUBLISHED },
	{ "default", 0 },
};

static void never_runs(void *object, void *arg)
{
	(void)arg;
	(void)object;
}

static void census(const char *name, size_t size, size_t align, const char *letters)
{
	static dry_heap *heap[sizeof(variants) / sizeof(variants[0])];

	for (size_t v = 0; v < sizeof(variants) / sizeof(variants[0]); v++) {
		struct dry_cache_attr attr = { .name = name, .size = size, .align = align, .flags = variants[v].flags };
		struct dry_cache_stats s;
		if (heap[v] == NULL)
			heap[v] = worker_heap(variants[v].name);
		attr.flags |= DRY_CACHE_NO_MERGE | DRY_CACHE_NO_ARRAYS;
		if (strchr(letters, 'c'))
			attr.ctor = never_runs;
		if (strchr(letters, 'r'))
			attr.flags |= DRY_CACHE_TYPESAFE_BY_RCU;
		if (strchr(letters, 's'))
			attr.flags |= DRY_CACHE_SMALL_SLABS;
		dry_cache *cache = dry_cache_create(heap[v], &attr);
		if (cache == NULL)
			worker_die(name);
		dry_cache_stats(cache, &s);
		printf("%s\t%s\t%s\t%zu\t%u\t%u\t%zu\t%u\n", name, variants[v].name, worker_mgmt_name(s.mgmt), s.stride,
		       s.objects_per_slab, s.pages_per_slab, s.waste, s.colours);
	}
}

int main(void)
{
	char line[256], name[128], letters[8];
	size_t size, align;

	printf("name\tvariant\ttype\tslot\tobjects\tpages\twaste\tcolours\n");
	while (fgets(line, sizeof(line), stdin) != NULL) {
		int fields = sscanf(line, "%127s %zu %zu %7s", name, &size, &align, letters);
		if (fields < 3)
			worker_die("a line has no name, size and alignment");
		census(name, size, align, fields == 4 ? letters : "");
	}
	return 0;
}
