/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The classic corruptions: `bugs NAME` has the bug NAME, `bugs --list` names them; `bugs --warm NAME` makes
 * 100,000 allocations of all sizes first. Each is a program by
 * itself: it makes one mistake, then goes on for a while as programs do (settle()), so that a checker that looks later has
 * its chance. What must come out is in the file `table`. Exit status 42: the program came to its end.
 */
#include <drystone/drystone.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bugs.h"

static char global[256] __attribute__((aligned(16)));

/* The size has to be given back to who promised to know it. */
void free_sized(void *object, size_t size);
void free_aligned_sized(void *object, size_t align, size_t size);

static volatile unsigned sink;

/* Objects of this size come and go; then all that is free goes back to the slabs, and from there. */
void settle(size_t size)
{
	static void *objects[N];

	for (int i = 0; i < N; i++)
		memset(objects[i] = get(size), 0x31, size);
	for (int i = 0; i < N; i++)
		give(objects[i]);
	malloc_trim(0);
}

/* ---- overflow: bytes [from, to) of a block of `size` ---------------------------------------- */

/* Neighbours on both sides, so that it is objects that are hit. */
static void overflow(size_t size, long from, long to)
{
	char *blocks[9];

	for (int i = 0; i < 9; i++)
		blocks[i] = get(size);
	for (long i = from; i < to; i++)
		blocks[4][i] = 0x41;
	for (int i = 0; i < 9; i++)
		give(blocks[i]);
	settle(size);
}

#define OVERFLOW(name, size, from, to) \
	static void overflow_##name(void) \
	{ \
		overflow(size, from, to); \
	}

OVERFLOW(right_1, 64, 64, 65)
OVERFLOW(right_8, 64, 64, 72)
OVERFLOW(right_64, 512, 512, 576)
OVERFLOW(right_far, 48, 48, 248)
OVERFLOW(right_odd, 53, 53, 54)
OVERFLOW(left_1, 64, -1, 0)
OVERFLOW(left_8, 64, -8, 0)
OVERFLOW(left_64, 512, -64, 0)

static void overflow_calloc(void)
{
	char *block = calloc(5, 20);

	CHECK(block);
	OPAQUE(block);
	block[100] = 0x41;
	give(block);
	settle(100);
}

static void overflow_memalign(void)
{
	char *block = memalign(256, 300);

	CHECK(block);
	OPAQUE(block);
	block[300] = 0x41;
	give(block);
	settle(300);
}

static void overflow_realloc(void)
{
	char *block = get(40);

	block[40] = 0x41;
	block = realloc(block, 4000);
	CHECK(block);
	give(block);
	settle(40);
}

/* ---- typed caches ---------------------------------------------------------------------------------- */

static void *objects[N];

static dry_cache *typed(const char *name, size_t size)
{
	struct dry_cache_attr attr = { .name = name, .size = size, .flags = DRY_CACHE_NO_MERGE };
	dry_cache *cache = dry_cache_create(NULL, &attr);

	CHECK(cache);
	CHECK_EQ(dry_cache_alloc_bulk(cache, N, objects), N);
	return cache;
}

static void settle_typed(dry_cache *cache)
{
	dry_cache_free_bulk(cache, N, objects);
	CHECK_EQ(dry_cache_alloc_bulk(cache, N, objects), N);
	dry_cache_free_bulk(cache, N, objects);
	dry_cache_shrink(cache);
}

static void overflow_typed(size_t size, long from, long to)
{
	dry_cache *cache = typed("victim", size);

	for (long i = from; i < to; i++)
		((char *)objects[N / 2])[i] = 0x41;
	settle_typed(cache);
}

#define TYPED(name, size, from, to) \
	static void typed_##name(void) \
	{ \
		overflow_typed(size, from, to); \
	}

TYPED(right_1, 40, 40, 41)
TYPED(right_64, 128, 128, 192)
TYPED(left_1, 40, -1, 0)

static void typed_double_free(void)
{
	dry_cache *cache = typed("victim", 64);

	dry_cache_free(cache, objects[7]);
	settle_typed(cache);
}

static void typed_write_after_free(void)
{
	dry_cache *cache = typed("victim", 64);
	char *object = objects[7];

	dry_cache_free_bulk(cache, N, objects);
	OPAQUE(object);
	object[20] = 0x41;
	CHECK_EQ(dry_cache_alloc_bulk(cache, N, objects), N);
	settle_typed(cache);
}

static void foreign_cache(void)
{
	dry_cache *owner = typed("owner", 64);
	void *object = objects[0];
	dry_cache *taker = typed("taker", 64);

	(void)owner;
	dry_cache_free(taker, object);
	settle_typed(taker);
}

static void general_to_cache(void)
{
	dry_cache *taker = typed("taker", 64);

	dry_cache_free(taker, get(64));
	settle_typed(taker);
}

static void typed_misaligned(void)
{
	dry_cache *cache = typed("victim", 64);

	dry_cache_free(cache, (char *)objects[7] + 4);
	settle_typed(cache);
}

static void leak_at_destroy(void)
{
	dry_cache *cache = typed("victim", 64);

	dry_cache_free_bulk(cache, N - 3, objects);
	CHECK(dry_cache_destroy(cache) != 0);
}

static dry_cache *destroyed(void)
{
	dry_cache *cache = typed("victim", 64);

	dry_cache_free_bulk(cache, N, objects);
	CHECK_EQ(dry_cache_destroy(cache), 0);
	return cache;
}

static void destroy_twice(void)
{
	dry_cache_destroy(destroyed());
}

static void alloc_after_destroy(void)
{
	OPAQUE(objects[0]);
	objects[0] = dry_cache_alloc(destroyed());
}

static void free_after_destroy(void)
{
	dry_cache *cache = destroyed();

	dry_cache_free(cache, objects[0]);
}

/* ---- double free ------------------------------------------------------------------------------------- */

static void double_free_other_between(void)
{
	char *block = get(64), *other = get(64);

	give(block);
	give(other);
	give(block);
	settle(64);
}

/* The block has a new owner, who frees it, too. */
static void double_free_after_reuse(void)
{
	char *block = get(1000), *owner = NULL;

	give(block);
	for (int i = 0; i < 100000 && owner != block; i++)
		owner = get(1000);
	give(block);
	give(owner);
	settle(1000);
}

/* The index of an even object in one page with an odd one. */
static int neighbour_of_an_odd_one(void)
{
	for (int even = 0; even < N; even += 2)
		for (int odd = 1; odd < N; odd += 2)
			if (((uintptr_t)objects[even] ^ (uintptr_t)objects[odd]) < 4096)
				return even;
	CHECK(!"two objects in one page");
	return 0;
}

/* The slab stays, for it has live objects. */
static void double_free_in_slab(void)
{
	for (int i = 0; i < N; i++)
		objects[i] = get(64);
	for (int i = 0; i < N; i += 2)
		give(objects[i]);
	malloc_trim(0);
	give(objects[neighbour_of_an_odd_one()]);
	settle(64);
}

static void double_free_much_later(void)
{
	char *block = get(64);

	give(block);
	settle(64);
	give(block);
	settle(64);
}

void *free_it(void *object)
{
	give(object);
	return NULL;
}

static void double_free_two_threads(void)
{
	char *block = get(64), *other = get(64);
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, free_it, block));
	CHECK(!pthread_join(thread, NULL));
	give(block);
	settle(64);
	give(other);
}

static void double_free(size_t size)
{
	char *block = get(size);

	give(block);
	give(block);
	if (size < 4096)
		settle(size | (size == 0));
}

static void double_free_at_once(void)
{
	double_free(64);
}

static void double_free_pages(void)
{
	double_free(100000);
}

static void double_free_big(void)
{
	double_free(3 << 20);
}

static void double_free_zero(void)
{
	double_free(0);
}

/* ---- use after free ------------------------------------------------------------------------------------ */

static void write_after_free(void)
{
	char *block = get(64);

	give(block);
	OPAQUE(block);
	block[9] = 0x41;
	settle(64);
}

static void write_after_free_first_byte(void)
{
	char *block = get(300);

	give(block);
	OPAQUE(block);
	memset(block, 0x41, 16);
	settle(300);
}

static void write_after_reuse(void)
{
	char *block = get(64), *owner = NULL;

	give(block);
	for (int i = 0; i < 100000 && owner != block; i++)
		owner = get(64);
	OPAQUE(block);
	block[9] = 0x41;
	give(owner);
	settle(64);
}

static void read_after_free(void)
{
	char *block = get(64);

	memset(block, 1, 64);
	give(block);
	OPAQUE(block);
	sink += (unsigned)block[9];
	settle(64);
}

static void read_after_reuse(void)
{
	char *block = get(64), *owner = NULL;

	give(block);
	for (int i = 0; i < 100000 && owner != block; i++)
		owner = get(64);
	OPAQUE(block);
	sink += (unsigned)block[9];
	give(owner);
	settle(64);
}

static void realloc_after_free(void)
{
	char *block = get(64);

	give(block);
	OPAQUE(block);
	block = realloc(block, 60);
	OPAQUE(block);
	settle(64);
}

/* ---- pointers that are none ---------------------------------------------------------------------------- */

static void bad(void *pointer)
{
	give(get(64)); /* so that there is room in an array */
	give(pointer);
	settle(64);
}

static void free_stack(void)
{
	char stack[64] __attribute__((aligned(64))) = { 0 };

	bad(stack + 16); /* no page's start, which might have been a big block */
}

static void free_global(void)
{
	bad(global + 64);
}

static void free_wild(void)
{
	bad((void *)(uintptr_t)0x123456789000u);
}

static void free_non_canonical(void)
{
	bad((void *)(uintptr_t)0xdeadbeefdeadbee0u);
}

static void free_low(void)
{
	bad((void *)(uintptr_t)16);
}

static void free_middle(void)
{
	bad(get(200) + 96);
}

static void free_misaligned(void)
{
	bad(get(64) + 1);
}

static void free_before(void)
{
	get(2000);
	bad(get(2000) - 16);
}

static void free_middle_of_pages(void)
{
	bad(get(100000) + 4096);
}

static void free_middle_of_big(void)
{
	bad(get(32 << 20) + (1 << 20));
}

static void free_middle_of_freed(void)
{
	char *block = get(200);

	give(block);
	bad(block + 16);
}

static void realloc_stack(void)
{
	char stack[64] __attribute__((aligned(64))) = { 0 };
	char *block = stack + 16;

	OPAQUE(block);
	block = realloc(block, 100);
	OPAQUE(block);
}

static void realloc_middle(void)
{
	char *block = get(200) + 16;

	OPAQUE(block);
	block = realloc(block, 100);
	OPAQUE(block);
	settle(200);
}

static void usable_of_middle(void)
{
	char *block = get(200) + 16;

	OPAQUE(block);
	sink += (unsigned)malloc_usable_size(block);
	free(block);
	settle(200);
}

/* ---- wrong size ----------------------------------------------------------------------------------------- */

static void sized_free_too_big(void)
{
	char *block = get(64);

	OPAQUE(block);
	free_sized(block, 4000);
	settle(64);
}

static void sized_free_too_small(void)
{
	char *block = get(500);

	OPAQUE(block);
	free_sized(block, 16);
	settle(500);
}

static void sized_free_same_class(void)
{
	char *block = get(500);

	OPAQUE(block);
	free_sized(block, 499);
	settle(500);
}

static void sized_free_aligned(void)
{
	char *block = memalign(128, 256);

	OPAQUE(block);
	free_aligned_sized(block, 128, 1024);
	settle(256);
}

static void leak_at_exit(void)
{
	for (int i = 0; i < 5; i++)
		memset(get(12345), 1, 12345);
}

#define BUG(name) { #name, name }

static const struct {
	const char *name;
	void (*run)(void);
} bugs[] = {
	BUG(overflow_right_1), BUG(overflow_right_8), BUG(overflow_right_64), BUG(overflow_right_far),
	BUG(overflow_right_odd), BUG(overflow_left_1), BUG(overflow_left_8), BUG(overflow_left_64),
	BUG(overflow_after_shrink), BUG(overflow_before_shrink),
	BUG(overflow_calloc), BUG(overflow_memalign), BUG(overflow_realloc),
	BUG(typed_right_1), BUG(typed_right_64), BUG(typed_left_1), BUG(typed_double_free),
	BUG(typed_write_after_free), BUG(typed_misaligned), BUG(foreign_cache), BUG(general_to_cache),
	BUG(leak_at_destroy), BUG(destroy_twice), BUG(alloc_after_destroy), BUG(free_after_destroy),
	BUG(double_free_at_once), BUG(double_free_other_between), BUG(double_free_after_reuse),
	BUG(double_free_in_slab), BUG(double_free_much_later), BUG(double_free_two_threads),
	BUG(double_free_pages), BUG(double_free_big), BUG(double_free_zero), BUG(write_after_free),
	BUG(write_after_free_first_byte), BUG(write_after_reuse), BUG(read_after_free), BUG(read_after_reuse),
	BUG(realloc_after_free), BUG(two_owners_at_once), BUG(two_owners_full_array),
	BUG(two_owners_other_between), BUG(two_owners_threads), BUG(two_owners_overlap), BUG(free_stack),
	BUG(free_global), BUG(free_wild), BUG(free_non_canonical),
	BUG(free_low), BUG(free_middle), BUG(free_misaligned), BUG(free_before), BUG(free_middle_of_pages),
	BUG(free_middle_of_big), BUG(free_middle_of_freed), BUG(realloc_stack), BUG(realloc_middle),
	BUG(usable_of_middle), BUG(sized_free_too_big), BUG(sized_free_too_small), BUG(sized_free_same_class),
	BUG(sized_free_aligned), BUG(leak_at_exit), BUG(sized_free_twice), BUG(sized_free_twice_big),
	BUG(read_next_page), BUG(read_given_back), BUG(own_heap_double_free), BUG(sized_free_twice_zero), BUG(double_free_unmapped),
	BUG(own_heap_overflow), BUG(own_heap_write_after_free), BUG(own_heap_interior),
	BUG(own_heap_typed_freed_apart), BUG(typed_freed_apart), BUG(constructed_write_after_free),
	BUG(overflow_big), BUG(overflow_far_aligned), BUG(kept_left), BUG(kept_left_first),
	BUG(write_to_nothing), BUG(sized_free_big),
	BUG(own_heap_natural_right_1), BUG(own_heap_natural_after_free),
	BUG(typed_page_right_1), BUG(typed_pages_right_1), BUG(typed_page_after_free),
};

int main(int argc, char **argv)
{
	const char *name = argc >= 2 ? argv[argc - 1] : "";

	if (argc == 3 && !strcmp(argv[1], "--warm"))
		warm_up();
	for (size_t i = 0; i < sizeof(bugs) / sizeof(bugs[0]); i++) {
		if (!strcmp(name, "--list"))
			puts(bugs[i].name);
		if (strcmp(name, bugs[i].name))
			continue;
		bugs[i].run();
		return 42;
	}
	return strcmp(name, "--list") ? 2 : 0;
}
