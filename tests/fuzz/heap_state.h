/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the parts of the target `heap` share: its state, patterns in blocks, the lines of report. */
#ifndef DRY_TESTS_FUZZ_HEAP_STATE_H
#define DRY_TESTS_FUZZ_HEAP_STATE_H

#include <errno.h>
#include <string.h>

#include <drystone/drystone.h>

#include "heap/heap.h"
#include "faults.h"
#include "input.h"

#define CACHES  6
#define OBJECTS 1024
#define BLOCKS  48

struct object {
	unsigned char *at;
	int cache;
};

struct block {
	unsigned char *at;
	size_t size, align;
};

struct heap_state {
	struct input in;
	dry_heap *heap;
	dry_cache *cache[CACHES];
	struct dry_cache_attr attr[CACHES];
	struct object object[OBJECTS];
	struct block block[BLOCKS];
	unsigned expected; /* lines of report */
	struct dry_grace_head *waiting;
	bool walks; /* the list of caches is walked */
};
extern struct heap_state s;

/* Patterns: the first 32 bytes and the last one. */

static inline unsigned char byte_of(const void *at, size_t i)
{
	return (unsigned char)((uintptr_t)at >> 3) ^ (unsigned char)(i * 37) ^ 0x5a;
}

static inline void paint(unsigned char *at, size_t size)
{
	for (size_t i = 0; i < size && i < 32; i++)
		at[i] = byte_of(at, i);
	if (size)
		at[size - 1] = byte_of(at, size - 1);
}

static inline void painted_like(const unsigned char *at, const unsigned char *origin, size_t size)
{
	for (size_t i = 0; i < size && i < 32; i++)
		EXPECT(at[i] == byte_of(origin, i));
}

static inline void painted(const unsigned char *at, size_t size)
{
	painted_like(at, at, size);
	EXPECT(!size || at[size - 1] == byte_of(at, size - 1));
}

/* A report came exactly where one was due. */
static inline void quiet(void)
{
	EXPECT(faults.reports == s.expected);
}

static inline void due(const char *what)
{
	s.expected++;
	quiet();
	EXPECT(strncmp(faults.line, "drystone: ", 10) == 0 && strstr(faults.line, what));
}

static inline void no_memory(const void *result)
{
	if (!result)
		EXPECT(errno == ENOMEM);
}

/* fuzz_heap.c: a live cache, or -1; verify an object and take it from the list, for a free of it; objects of a cache. */
int pick_cache(void);
size_t held_of(const dry_cache *root);
void *give_object(unsigned i);

/* heap_damage.c */
void op_damage(void);

/* heap_rare.c: what is too slow, or too strange, to be done often; after each operation: its other thread ends. */
void op_rare(unsigned what);
void end_of_rare(void);

/* heap_blocks.c */
void op_block(void);
void op_block_free(void);
void op_resize(void);
void op_wrong(void);

#endif
