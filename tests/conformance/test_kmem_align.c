/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * kmem.h: kmalloc() of a power of two is aligned to it, however many there are, and whichever function asks for it.
 * DRY_TEST_NOT_TINY: blocks of 4 MiB
 */
#include <drystone/kmem.h>

#include "../support/check.h"
#include "../support/pattern.h"

#define BLOCKS 8

static void *of_kind(int kind, size_t size)
{
	switch (kind) {
	case 0:
		return kmalloc(size, GFP_KERNEL);
	case 1:
		return kzalloc(size, GFP_KERNEL);
	case 2:
		return kmalloc_array(size / 8, 8, GFP_NOWAIT);
	default:
		return krealloc(NULL, size, GFP_KERNEL);
	}
}

int main(void)
{
	for (size_t size = 8; size <= 4 << 20; size *= 2)
		for (int kind = 0; kind < 4; kind++) {
			char *blocks[BLOCKS];

			for (int i = 0; i < BLOCKS; i++) {
				blocks[i] = of_kind(kind, size);
				CHECK(blocks[i] != NULL && (uintptr_t)blocks[i] % size == 0);
				CHECK(kind != 1 || all_bytes(blocks[i], size, 0));
				memset(blocks[i], i + 1, size);
			}
			for (int i = 0; i < BLOCKS; i++) {
				CHECK(all_bytes(blocks[i], size, i + 1));
				kfree(blocks[i]);
			}
		}
	CHECK_EQ(dry_heap_check(NULL), 0);
	return 0;
}
