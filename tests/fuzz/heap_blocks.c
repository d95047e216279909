/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The target `heap`: general blocks, and wrong calls. */
#include "heap_state.h"

/* ---- general blocks ---------------------------------------------------------------------- */

static void got_block(struct block *block, void *at, size_t size, size_t align)
{
	if (!at)
		return;
	*block = (struct block){ at, size, align };
	EXPECT((uintptr_t)at % align == 0);
	EXPECT(dry_usable_size(s.heap, at) >= size);
	paint(at, size);
}

void op_block(void)
{
	unsigned how = input_8(&s.in);
	struct block *block = &s.block[how % BLOCKS];
	size_t size = input_size(&s.in, 23), align = size < 16 ? 8 : 16;
	unsigned char *at;

	if (block->at)
		return;
	errno = 0;
	if (how & 64) {
		align = (size_t)1 << input_8(&s.in) % 20;
		at = dry_alloc_aligned(s.heap, align, size);
	} else if (how & 128) {
		at = dry_zalloc(s.heap, size);
		for (size_t i = 0; at && i < size; i += i < 64 || i + 64 > size ? 1 : 61)
			EXPECT(at[i] == 0);
	} else {
		at = dry_alloc(s.heap, size);
	}
	no_memory(at);
	got_block(block, at, size, align);
	errno = 0;
	EXPECT(!dry_alloc_aligned(s.heap, align * 2 + 1, size) && errno == EINVAL);
	quiet();
}

void op_block_free(void)
{
	struct block *block = &s.block[input_8(&s.in) % BLOCKS];

	if (block->at)
		painted(block->at, block->size);
	errno = 77;
	dry_free(s.heap, block->at);
	EXPECT(errno == 77);
	block->at = NULL;
	quiet();
}

void op_resize(void)
{
	struct block *block = &s.block[input_8(&s.in) % BLOCKS];
	size_t size = input_size(&s.in, 24), kept = size < block->size ? size : block->size;
	unsigned char *at = block->at, *moved;

	if (at)
		painted(at, block->size);
	errno = 0;
	moved = dry_realloc(s.heap, at, size);
	no_memory(moved);
	if (!moved) {
		if (at)
			painted(at, block->size);
		return;
	}
	if (at)
		painted_like(moved, at, kept);
	got_block(block, moved, size, size < 16 ? 8 : 16);
	quiet();
}

/* ---- wrong calls that are found out whatever the state ------------------------------------- */

/* Freed at once where there are no array caches: what is wrong is seen in the call. */
static void wrong_in_poisoned(unsigned how)
{
	unsigned i = input_16(&s.in) % OBJECTS;
	dry_cache *cache;
	unsigned char *at;

	if (!s.object[i].at)
		return;
	cache = s.cache[s.object[i].cache];
	at = s.object[i].at;
	if (!cache->root->debug)
		return;
	if (how & 1) {
		if (s.attr[s.object[i].cache].size < 2)
			return;
		dry_cache_free(cache, at + 1);
		due("pointer into the middle of an object");
	} else {
		dry_cache_free(cache, give_object(i));
		quiet();
		if (dry_cache_shrink(cache) == 0) { /* or the free itself gave the slab back */
			dry_cache_free(cache, at);
			due("free");
			EXPECT(strstr(faults.line, "double free") || strstr(faults.line, "freed twice"));
		}
	}
}

static void wrong_cache(void)
{
	unsigned i = input_16(&s.in) % OBJECTS;
	int cache = pick_cache();

	if (cache < 0 || !s.object[i].at || s.cache[s.object[i].cache]->root == s.cache[cache]->root)
		return;
	dry_cache_free(s.cache[cache], s.object[i].at);
	due("object of another cache");
}

void op_wrong(void)
{
	unsigned how = input_8(&s.in);
	struct block *block = &s.block[how % BLOCKS];
	int cache = pick_cache();

	switch (input_8(&s.in) % 7) {
	case 0:
		wrong_in_poisoned(how);
		break;
	case 1:
		wrong_cache();
		break;
	case 2: /* the middle of a block: a free place of a slab with index 0 hits no array */
		if (!block->at || block->size < 65536)
			break;
		dry_free(s.heap, block->at + 4096 + how);
		s.expected++;
		EXPECT(strstr(faults.line, "middle") || strstr(faults.line, "invalid pointer"));
		break;
	case 3:
		dry_free(s.heap, &how);
		due("invalid pointer");
		break;
	case 4:
		if (cache >= 0) {
			dry_cache_free(s.cache[cache], (void *)&s);
			due("invalid pointer");
		}
		break;
	case 5: {
		void *at = dry_realloc(s.heap, (void *)&how, 10);

		EXPECT(!at);
		due("invalid pointer");
		break;
	}
	default: { /* a big block, freed twice: it waits in the cache of extents, or is unknown */
		void *at = dry_alloc(s.heap, (size_t)2 << 20);

		dry_free(s.heap, at);
		if (at) {
			dry_free(s.heap, at);
			s.expected++;
		}
		break;
	}
	}
	quiet();
}

