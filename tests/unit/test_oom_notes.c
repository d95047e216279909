/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The notes of secure objects take memory as the heap grows. Once the system refused it, objects are made without notes;
 * they have no canaries, and nothing may look for them.
 *
 * DRY_TEST_CONF: secure=secure:1
 * Linked with fail_port.c.
 */
#include <drystone/drystone.h>
#include <string.h>

#include "../support/check.h"
#include "heap/heap.h"
#include "fail_port.h"

#define PAST   ((size_t)16 << 20) /* notes for so much of the arena are taken into use at once */
#define BLOCKS 6000

static void *blocks[BLOCKS];

int main(void)
{
	size_t base = (size_t)dry_heap_arena(dry_heap_default())->base, past = 0;

	/* Pages that no secure object ever had: those of a cache whose type was asked for. */
	struct dry_cache_attr attr = { .name = "plain", .size = 4096, .flags = DRY_CACHE_BITMAP };
	dry_cache *plain = dry_cache_create(NULL, &attr);

	CHECK(plain);
	for (int i = 0; i < BLOCKS; i++)
		CHECK(blocks[i] = dry_cache_alloc(plain));
	for (int i = BLOCKS / 4 * 3; i < BLOCKS; i++)
		dry_cache_free(plain, blocks[i]);
	dry_cache_shrink(plain);
	atomic_store(&dry_fail_calls, 0);
	atomic_store(&dry_fail_at, 1);
	atomic_store(&dry_fail_after, true);
	for (size_t size = 150; size < 4000; size += size / 10) {
		unsigned char *block = dry_alloc(NULL, size);

		if (!block)
			continue;
		past += (size_t)block - base >= PAST;
		memset(block, (int)size, size);
		block = dry_realloc(NULL, block, size - 3);
		CHECK(block && block[0] == (unsigned char)size && block[size - 4] == (unsigned char)size);
		dry_free(NULL, block);
	}
	atomic_store(&dry_fail_at, 0);
	CHECK(past > 0);
	for (int i = 0; i < BLOCKS / 4 * 3; i++)
		dry_cache_free(plain, blocks[i]);
	CHECK(dry_heap_check(NULL) == 0);
	printf("%zu blocks beyond the notes\n", past);
	return 0;
}
