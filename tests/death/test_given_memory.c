/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A heap over given memory has its metadata among its blocks: who frees a block twice does not free what came there. */
#include <drystone/drystone.h>

#include "../support/death.h"

#define BYTES ((size_t)1 << 20)
#define BLOCK ((size_t)8 << 10) /* with that alignment a run of pages */

static char memory[BYTES] __attribute__((aligned(65536)));

/* Of a full heap one block, whose pages have metadata after its free. */
static char *replaced(dry_heap **heap)
{
	struct dry_heap_attr attr = { .name = "given", .memory = memory, .memory_size = BYTES };
	struct dry_cache_attr cache = { .size = 40, .flags = DRY_CACHE_NO_MERGE };
	static char name[] = "cache-0";
	char *block = NULL, *last;

	CHECK(*heap = dry_heap_create(&attr));
	while ((last = dry_alloc_aligned(*heap, BLOCK, BLOCK)) != NULL)
		block = last;
	CHECK(block);
	cache.name = name;
	while (dry_cache_create(*heap, &cache) != NULL) /* as far as there is room for structs */
		;
	dry_free(*heap, block);
	dry_heap_trim(*heap);
	for (int i = 0; i < 8; i++) {
		name[6] = (char)('1' + i);
		CHECK(dry_cache_create(*heap, &cache));
	}
	return block;
}

static void run_free(void)
{
	dry_heap *heap;
	char *block = replaced(&heap);

	death_at(block);
	dry_free(heap, block);
}

static void run_realloc(void)
{
	dry_heap *heap;
	char *block = replaced(&heap);

	death_at(block);
	CHECK(dry_realloc(heap, block, 2 * BLOCK));
}

#define TWICE "^drystone: invalid pointer: 0x[0-9a-f]+: in a free page: never given out, or freed twice"

static const struct death_case cases[] = {
	{ "free", TWICE, run_free },
	{ "realloc", TWICE, run_realloc },
};

int main(int argc, char **argv)
{
	return death_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
