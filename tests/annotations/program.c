/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* program CASE: one wrong bug, or none, for a memory checker to see; see run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <drystone/drystone.h>

#include "../support/check.h"
#include "../support/random.h"

static dry_cache *cache;
static volatile char sink;
static void *volatile first;
static void *lowest;
static void *volatile hidden; /* an address that no checker takes for a pointer */

static char *object(void)
{
	char *at = dry_cache_alloc(cache);

	CHECK(at);
	memset(at, 1, 100);
	return at;
}

static char *block(size_t size)
{
	char *at = dry_alloc(NULL, size);

	CHECK(at);
	memset(at, 1, size);
	return at;
}

static void free_read(void)
{
	char *at = object(), *other = object();

	OPAQUE(at);
	dry_cache_free(cache, at);
	sink = at[10];
	dry_cache_free(cache, other);
}

static void free_write(void)
{
	char *at = block(200);

	OPAQUE(at);
	dry_free(NULL, at);
	at[0] = 2;
}

static void never_given(void)
{
	char *at = object();

	OPAQUE(at);
	sink = at[104 * 3]; /* another object of the slab */
	dry_cache_free(cache, at);
}

static void overflow(void)
{
	char *at = block(50);

	OPAQUE(at);
	at[50] = 3;
	dry_free(NULL, at);
}

static void overflow_big(void)
{
	char *at = block(100001);

	OPAQUE(at);
	sink = at[100001];
	dry_free(NULL, at);
}

static void free_big(void)
{
	char *at = block(300000);

	OPAQUE(at);
	dry_free(NULL, at);
	sink = at[150000];
}

static void moved(void)
{
	char *at = block(40), *grown = dry_realloc(NULL, at, 45);

	CHECK(grown && grown[39] == 1);
	OPAQUE(at);
	sink = at[0];
	dry_free(NULL, grown);
}

/* Seen by memcheck only. */
static void undefined(void)
{
	char *at = dry_cache_alloc(cache);

	CHECK(at);
	OPAQUE(at);
	if (at[5] == 7)
		puts("seven");
	dry_cache_free(cache, at);
}

static void leak_object(void)
{
	char *at = object();

	OPAQUE(at);
	hidden = (void *)~(uintptr_t)at;
}

static void leak_block(void)
{
	char *at = block(777);

	OPAQUE(at);
	hidden = (void *)~(uintptr_t)at;
}

/* ---- pages of the program's own, which it clears itself -------------------------------------- */

static char *pages;
static size_t pages_used;

static void *reserve(void *arg, size_t size, size_t align)
{
	uintptr_t start = ((uintptr_t)pages + pages_used + align - 1) & ~(align - 1);

	(void)arg;
	if (size > (size_t)16 << 20 || start + size > (uintptr_t)pages + ((size_t)64 << 20))
		return NULL;
	pages_used = start + size - (uintptr_t)pages;
	return (void *)start;
}

static int commit(void *arg, void *addr, size_t size, unsigned node)
{
	(void)arg, (void)node;
	memset(addr, 0, size);
	return 0;
}

static void purge(void *arg, void *addr, size_t size)
{
	commit(arg, addr, size, 0);
}

static void sound_source(void)
{
	struct dry_page_source source = { reserve, commit, purge, purge, NULL, 0 };
	struct dry_heap_attr attr = { .name = "source", .source = &source, .nodes = 2 };
	void *blocks[200];

	pages = mmap(NULL, (size_t)64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(pages != MAP_FAILED);
	dry_heap *heap = dry_heap_create(&attr);
	CHECK(heap);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < 200; i++)
			CHECK(blocks[i] = dry_alloc(heap, i % 50 == 0 ? 1500000 : i * 300 + 1));
		for (size_t i = 0; i < 200; i++)
			dry_free(heap, blocks[i]);
		dry_heap_trim(heap);
	}
	CHECK_EQ(dry_heap_destroy(heap), 0);
	memset(pages, 1, pages_used);
	munmap(pages, (size_t)64 << 20);
}

/* Nothing wrong, in every way; what is in use is found by a leak check. */
static void sound(void)
{
	static void *blocks[300], *objects[300];
	struct dry_heap_attr attr = { .name = "second" };
	struct rng rng = { 1 };
	dry_heap *heap = dry_heap_create(&attr);
	char *zero, *stay;

	CHECK(heap);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 300; i++) {
			size_t size = rng_size(&rng, i % 50 ? 12 : 21);

			blocks[i] = i % 2 ? block(size) : dry_zalloc(NULL, size);
			CHECK(blocks[i]);
			CHECK(dry_usable_size(NULL, blocks[i]) >= size);
			memset(blocks[i], 2, dry_usable_size(NULL, blocks[i]));
			blocks[i] = dry_realloc(NULL, blocks[i], size + size / 2 + 1);
			CHECK(blocks[i] && ((char *)blocks[i])[size - 1] == 2);
			objects[i] = object();
			CHECK(dry_alloc(heap, size)); /* goes with its heap */
		}
		for (int i = 0; i < 300; i++) {
			dry_free(NULL, blocks[i]);
			dry_cache_free(cache, objects[i]);
		}
		dry_heap_trim(NULL);
	}
	CHECK(dry_cache_alloc_bulk(cache, 300, objects) == 300);
	for (int i = 0; i < 300; i++)
		memset(objects[i], 3, 100);
	dry_cache_free_bulk(cache, 300, objects);
	zero = dry_zalloc(NULL, 3000000);
	CHECK(zero && zero[2999999] == 0);
	dry_free(NULL, zero);
	CHECK_EQ(dry_heap_check(NULL), 0);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	sound_source();
	/* held by an object of ours: no leak */
	stay = object();
	hidden = stay;
	*(void **)stay = malloc(55);
	CHECK(*(void **)stay);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "free-read", free_read },	  { "free-write", free_write }, { "never-given", never_given },
	{ "overflow", overflow },	  { "overflow-big", overflow_big }, { "free-big", free_big },
	{ "moved", moved },		  { "undefined", undefined },	{ "leak-object", leak_object },
	{ "leak-block", leak_block },	  { "sound", sound },
};

int main(int argc, char **argv)
{
	struct dry_cache_attr attr = { .name = "watched", .size = 100 };

	CHECK(argc == 2);
	CHECK(cache = dry_cache_create(NULL, &attr));
	CHECK(lowest = dry_cache_alloc(cache)); /* the arena begins with it, and the heap knows where that is */
	CHECK(first = malloc(10)); /* without any block of malloc memcheck looks for no leaks */
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(argv[1], cases[i].name)) {
			cases[i].run();
			return 0;
		}
	return 2;
}
