/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A program with a cache and a copy of the library that leaves malloc() alone: loses BLOCKS blocks; wait: then reads a line. */
#include <drystone/drystone.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 100
#define BYTES  100000

static char *volatile block;

static __attribute__((noinline)) void lose(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		block = malloc(BYTES);
		if (block == NULL)
			exit(2);
		memset(block, 1, BYTES);
	}
	block = NULL;
}

int main(int argc, char **argv)
{
	dry_cache *cache = dry_cache_create(NULL, &(struct dry_cache_attr){ .name = "beside", .size = 100 });

	for (int i = 0; i < 50; i++)
		if (dry_cache_alloc(cache) == NULL)
			return 2;
	lose();
	if (argc > 1 && strcmp(argv[1], "wait") == 0) {
		puts("ready");
		fflush(stdout);
		(void)getchar();
	}
	return 0;
}
