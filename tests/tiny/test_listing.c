/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the listing and walks call the heap's own classes: by their size, also where caches share them. */
#include <drystone/tiny.h>

#include "../support/exercise.h"

static char text[8192];

static void append(void *arg, const char *piece, size_t bytes)
{
	(void)arg;
	strncat(text, piece, bytes);
}

/* Lines of the listing that begin with a name. */
static unsigned lines_of(const char *name)
{
	unsigned n = 0;

	for (const char *line = text; line != NULL; line = strchr(line, '\n'), line += line != NULL)
		n += !strncmp(line, name, strlen(name)) && line[strlen(name)] == ' ';
	return n;
}

static int count(dry_cache *cache, void *arg)
{
	struct dry_cache_stats stats = stats_of(cache);
	unsigned *seen = arg;

	seen[0] += !strcmp(stats.name, "kmalloc-64") && stats.stride == 64;
	seen[1] += !strcmp(stats.name, "kmalloc-128") && stats.stride == 128;
	seen[2] += !strcmp(stats.name, "shared");
	seen[3] += !strcmp(stats.name, "kmem_cache");
	return 0;
}

int main(void)
{
	static _Alignas(16) char memory[65536];
	dry_heap *heap = dry_heap_create(&(struct dry_heap_attr){ .memory = memory, .memory_size = sizeof(memory) });
	unsigned seen[4] = { 0 };

	CHECK(heap && dry_alloc(heap, 64) && dry_alloc(heap, 128));
	CHECK(make_cache(heap, "shared", 64, 0, 0) && make_cache(heap, "own", 128, 0, DRY_CACHE_NO_MERGE));
	dry_heap_slabinfo(heap, append, NULL);
	CHECK(lines_of("kmalloc-64") == 1 && lines_of("kmalloc-128") == 1 && lines_of("kmalloc") == 0);
	CHECK(lines_of("kmem_cache") == 1 && lines_of("shared") == 1 && lines_of("own") == 1);
	CHECK_EQ(dry_heap_for_each_cache(heap, count, seen), 0);
	for (unsigned i = 0; i < 4; i++)
		CHECK_EQ(seen[i], 1);
	return 0;
}
