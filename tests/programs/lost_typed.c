/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* As lost.c, of objects of typed caches, beside blocks of malloc: kept and freed, and lost if the argument says so. */
#include <drystone/drystone.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lost.h"

#define BULK 10

struct node {
	void *to;
	char rest[];
};

static dry_cache *caches[8];
static dry_heap *heap;
static void *volatile kept[16];
static void *volatile many[BULK];

static dry_cache *make(dry_heap *in, const char *name, size_t size, void (*ctor)(void *, void *))
{
	struct dry_cache_attr attr = { .name = name, .size = size, .ctor = ctor };
	dry_cache *cache = dry_cache_create(in, &attr);

	if (cache == NULL)
		exit(3);
	return cache;
}

static NOINLINE struct node *get(dry_cache *cache, void *to)
{
	struct node *object = dry_cache_zalloc(cache);

	object->to = to;
	__asm__ volatile("" : : "r"(object) : "memory");
	return object;
}

/* A compiler may leave out what is written to a block that nobody reads. */
static NOINLINE void set(struct node *block, void *to)
{
	block->to = to;
	__asm__ volatile("" : : "r"(block) : "memory");
}

static NOINLINE struct node *get_block(size_t size, void *to)
{
	struct node *block = malloc(size);

	memset(block, 0, size);
	block->to = to;
	__asm__ volatile("" : : "r"(block) : "memory");
	return block;
}

/* A constructed object has a buffer, free or not. */
static void construct(void *object, void *arg)
{
	(void)arg;
	memset(object, 0, 40);
	((struct node *)object)->to = malloc(1234);
}

/* ---- reached, or freed ------------------------------------------------------------------------- */

static NOINLINE void keep(void)
{
	dry_cache *list = make(NULL, "list", 64, NULL), *made = make(NULL, "constructed", 40, construct);
	struct dry_heap_attr attr = { .memory = malloc(1 << 20), .memory_size = 1 << 20 };
	dry_heap *over = dry_heap_create(&attr); /* in a block that is noted */
	void *objects[BULK];

	kept[0] = get(list, get(list, get(list, get_block(100, NULL))));
	kept[1] = get_block(101, get(list, get_block(102, get(list, NULL))));
	kept[2] = (char *)get(list, NULL) + 63;
	kept[3] = get(make(heap, "kept-private", 72, NULL), NULL);
	kept[4] = dry_alloc(heap, 5000);
	set(kept[4], get_block(103, NULL));
	if (dry_cache_alloc_bulk(list, BULK, objects) != BULK)
		exit(3);
	for (int i = 0; i < BULK; i++)
		many[i] = objects[i];
	dry_cache_free(made, dry_cache_alloc(made));
	dry_free(NULL, get(list, NULL));
	set(dry_alloc(heap, 100000), get_block(104, NULL)); /* never lost */
	get(make(over, "over", 80, NULL), get_block(105, NULL));
	kept[5] = over;
	objects[0] = get(list, NULL);
	dry_cache_free_bulk(list, 1, objects);
}

/* What is live in a heap goes with it. */
static NOINLINE void end_heap(void)
{
	dry_heap *gone = dry_heap_create(NULL);
	dry_cache *cache = make(gone, "gone", 500, NULL);

	for (int i = 0; i < 1000; i++)
		get(cache, NULL);
	dry_heap_destroy(gone);
}

/* ---- lost ------------------------------------------------------------------------------------ */

static NOINLINE void lose_first_of_heap(void)
{
	get(caches[5], NULL);
}

static NOINLINE void lose_general_of_heap(void)
{
	set(dry_alloc(heap, 300), NULL);
}

static NOINLINE void *lose_single(void)
{
	return get(caches[0], NULL);
}

/* One function, two caches of objects that could share slabs. */
static NOINLINE void *lose_twins(void)
{
	void *one = NULL;

	for (int i = 1; i <= 2; i++)
		one = get(caches[i], NULL);
	return one;
}

static NOINLINE void *lose_chain(void)
{
	return get(caches[3], get(caches[3], get(caches[3], NULL)));
}

static NOINLINE void *lose_to_block(void)
{
	return get(caches[4], get_block(700, NULL));
}

static NOINLINE void *lose_from_block(void)
{
	return get_block(900, get(caches[4], NULL));
}

static NOINLINE void lose_bulk(void)
{
	void *objects[BULK];

	if (dry_cache_alloc_bulk(caches[6], BULK, objects) != BULK)
		exit(3);
	for (int i = 0; i < BULK; i++)
		memset(objects[i], 0, 136);
}

static NOINLINE void lose_on_node(void)
{
	memset(dry_cache_alloc_node(caches[7], 0), 0, 152);
}

/* The only pointer to a block is in an object that was freed. */
static NOINLINE void lose_in_freed(void)
{
	struct node *holder = get(caches[7], get_block(555, NULL));

	dry_cache_free(caches[7], holder);
}

int main(int argc, char **argv)
{
	static const struct { const char *name; size_t size; } of[8] = {
		{ "single", 96 }, { "twin", 48 }, { "other twin", 48 }, { "chained", 64 }, { "owner", 112 },
		{ "private", 208 }, { "bulk", 136 }, { "on a node", 152 },
	};

	heap = dry_heap_create(NULL);
	for (int i = 0; i < 8; i++)
		caches[i] = make(i == 5 ? heap : NULL, of[i].name, of[i].size, NULL);
	if (argc > 1 && strcmp(argv[1], "lose") == 0) {
		lose_first_of_heap();
		lose_general_of_heap();
		lose_single();
		lose_twins();
		lose_chain();
		lose_to_block();
		lose_from_block();
		lose_bulk();
		lose_on_node();
		lose_in_freed();
	}
	keep();
	end_heap();
	wipe();
	return 0;
}
