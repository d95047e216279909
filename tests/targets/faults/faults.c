/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* One wrong call, by its name: check-targets expects a line of text if libdrystone-tiny-check is linked, and the end always. */
#include <drystone/drystone.h>
#include <stdio.h>
#include <string.h>

static void wrong(const char *what, dry_heap *heap, dry_cache *cache)
{
	char *object = dry_cache_alloc(cache);

	if (!strcmp(what, "twice")) {
		dry_cache_free(cache, object);
		dry_cache_free(cache, object);
	} else if (!strcmp(what, "middle")) {
		dry_cache_free(cache, object + 4);
	} else if (!strcmp(what, "foreign")) {
		dry_free(heap, &cache);
	} else if (!strcmp(what, "realloc")) {
		if (dry_realloc(heap, object + 4, 100) != NULL)
			return;
	} else if (!strcmp(what, "leak")) {
		if (dry_cache_destroy(cache) == 0)
			return;
		dry_cache_free(cache, object + 4);
	} else if (!strcmp(what, "dead")) {
		dry_cache_free(cache, object);
		if (dry_cache_destroy(cache) == 0 && dry_cache_alloc(cache) != NULL)
			return;
	}
}

int main(int argc, char **argv)
{
	dry_heap *heap = dry_heap_create(NULL);
	dry_cache *cache = dry_cache_create(heap, &(struct dry_cache_attr){ .name = "victim", .size = 48 });

	if (argc != 2 || cache == NULL)
		return 2;
	wrong(argv[1], heap, cache);
	printf("survived\n");
	return 0;
}
