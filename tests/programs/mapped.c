// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * For the map: caches of 4, 4 and 2 MiB, of which "beta" has every second object freed again, page runs of 3 MB, an extent that was
 * written to in its first half. At a line of input, "gamma" is freed.
 */
#include <drystone/drystone.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OBJECTS 8192

static dry_cache *make(const char *name)
{
	return dry_cache_create(NULL, &(struct dry_cache_attr){ .name = name, .size = 512, .flags = DRY_CACHE_NO_MERGE });
}

int main(int argc, char **argv)
{
	static void *beta[OBJECTS], *gamma[OBJECTS / 2];
	dry_cache *cache[3] = { make("alpha"), make("beta"), make("<gamma>") };
	char *extent = malloc(8 << 20);

	for (int i = 0; i < OBJECTS; i++)
		if (dry_cache_alloc(cache[0]) == NULL) /* slabs side by side */
			return 1;
	for (int i = 0; i < OBJECTS; i++) {
		if ((beta[i] = dry_cache_alloc(cache[1])) == NULL ||
		    (i < OBJECTS / 2 && (gamma[i] = dry_cache_alloc(cache[2])) == NULL))
			return 1;
		memset(beta[i], 1, 512);
	}
	for (int i = 0; i < OBJECTS; i += 2)
		dry_cache_free(cache[1], beta[i]);
	for (int i = 0; i < 30; i++)
		memset(malloc(100000), 1, 100000);
	memset(extent, 1, 4 << 20);
	if (argc > 1) {
		FILE *file = fopen(argv[1], "w");

		if (file == NULL || malloc_info(0, file) != 0 || fclose(file) != 0)
			return 1;
	}
	puts("ready");
	fflush(stdout);
	getchar();
	for (int i = 0; i < OBJECTS / 2; i++)
		dry_cache_free(cache[2], gamma[i]);
	dry_heap_trim(NULL);
	puts("freed");
	fflush(stdout);
	getchar();
	return 0;
}
