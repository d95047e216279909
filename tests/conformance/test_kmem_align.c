/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * kmem.h: kmalloc() of a power of two is aligned to it, however many there are, and whichever function asks for it;
 * krealloc() to one, too, from all sizes, and up and down from there.
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

static void change(char **blocks, size_t from, size_t to, gfp_t flags)
{
	for (int i = 0; i < BLOCKS; i++) {
		size_t old = ksize(blocks[i]), same = from < to ? from : to;

		blocks[i] = krealloc(blocks[i], to, flags);
		CHECK(blocks[i] != NULL && ((to & (to - 1)) != 0 || (uintptr_t)blocks[i] % to == 0));
		CHECK(all_bytes(blocks[i], same, i + 1));
		if ((flags & __GFP_ZERO) && to > from)
			CHECK(all_bytes(blocks[i] + from, to - from, 0) && old >= from);
		memset(blocks[i], i + 1, to);
	}
}

static void test_change(size_t from, size_t to, gfp_t flags)
{
	char *blocks[BLOCKS];

	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = kmalloc(from, flags);
		CHECK(blocks[i] != NULL);
		memset(blocks[i], i + 1, from);
	}
	change(blocks, from, to, flags);
	change(blocks, to, to, flags);
	change(blocks, to, 3 * to, flags);
	change(blocks, 3 * to, to, flags);
	change(blocks, to, to / 2, flags);
	for (int i = 0; i < BLOCKS; i++)
		kfree(blocks[i]);
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
	for (size_t to = 16; to <= 4 << 20; to *= 2)
		for (size_t eighths = 1; eighths <= 24; eighths++) {
			test_change(to / 8 * eighths, to, GFP_KERNEL);
			test_change(to / 8 * eighths, to, GFP_KERNEL | __GFP_ZERO);
		}
	CHECK_EQ(dry_heap_check(NULL), 0);
	return 0;
}
