/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What every way to embed must give: caches work, and malloc is drystone's (argument "override") or not ("library"). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <drystone/drystone.h>

struct point {
	long x, y, z;
};

static size_t held(void)
{
	struct dry_heap_stats stats;

	return dry_heap_stats(NULL, &stats) == 0 ? stats.in_use + stats.extents : 0;
}

static int use_cache(void)
{
	struct dry_cache_attr attr;
	struct dry_cache_stats stats;
	dry_cache *cache;
	struct point *points[500];
	int i;

	memset(&attr, 0, sizeof(attr));
	attr.name = "point";
	attr.size = sizeof(struct point);
	attr.flags = DRY_CACHE_NO_MERGE;
	cache = dry_cache_create(NULL, &attr);
	if (cache == NULL)
		return 1;
	for (i = 0; i < 500; i++) {
		points[i] = (struct point *)dry_cache_zalloc(cache);
		if (points[i] == NULL || points[i]->z != 0)
			return 2;
		points[i]->z = i;
	}
	if (dry_cache_stats(cache, &stats) != 0 || stats.active_objects != 500)
		return 3;
	for (i = 0; i < 500; i++) {
		if (points[i]->z != i)
			return 4;
		dry_cache_free(cache, points[i]);
	}
	return dry_cache_destroy(cache) != 0 ? 5 : 0;
}

int main(int argc, char **argv)
{
	void *volatile blocks[64];
	size_t before, grown;
	int i, override, failed = use_cache();

	if (argc != 2 || failed) {
		fprintf(stderr, "program: the cache fails (%d)\n", failed);
		return 1;
	}
	before = held();
	for (i = 0; i < 64; i++)
		blocks[i] = malloc(60000);
	grown = held() - before;
	override = grown >= (size_t)64 * 60000;
	for (i = 0; i < 64; i++)
		free(blocks[i]);
	if ((!override && grown != 0) || override != !strcmp(argv[1], "override")) {
		fprintf(stderr, "program: of %d bytes of malloc, %zu are drystone's\n", 64 * 60000, grown);
		return 1;
	}
	printf("%s %s\n", argv[1], dry_version());
	return 0;
}
