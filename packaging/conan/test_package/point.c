/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include <drystone/drystone.h>

int main(void)
{
	struct dry_cache_attr attr = { .name = "point", .size = 24 };
	dry_cache *points = dry_cache_create(NULL, &attr);
	void *point = points != NULL ? dry_cache_alloc(points) : NULL;

	if (point == NULL)
		return 1;
	dry_cache_free(points, point);
	return dry_cache_destroy(points) != 0;
}
