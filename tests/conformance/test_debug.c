/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Debugged caches work as any other: every letter by itself and together, for each management type, constructors,
 * alignments; usable sizes are what was asked for; the options choose caches by name; owners are listed.
 */
/* DRY_TEST_NOT_TINY: it has no debugging. */
#define _GNU_SOURCE 1
#include <stdlib.h>
#include <sys/wait.h>

#include "../support/capture.h"
#include "../support/exercise.h"
#include "../support/pages.h"

#define FZPU (DRY_CACHE_CHECKS | DRY_CACHE_RED_ZONE | DRY_CACHE_POISON | DRY_CACHE_STORE_USER)

static const unsigned letters[] = { DRY_CACHE_CHECKS, DRY_CACHE_RED_ZONE, DRY_CACHE_POISON, DRY_CACHE_STORE_USER,
				    DRY_CACHE_QUARANTINE, FZPU, FZPU | DRY_CACHE_QUARANTINE };
static const unsigned types[] = { 0, DRY_CACHE_OBJFREELIST, DRY_CACHE_NORMAL, DRY_CACHE_OFF_SLAB, DRY_CACHE_BITMAP,
				  DRY_CACHE_CHAIN, DRY_CACHE_PUBLISHED };

static size_t tried, had;

static void test_one(dry_heap *heap, size_t size, size_t align, unsigned flags, struct rng *rng)
{
	dry_cache *cache = make_cache(heap, "debugged", size, align, flags);
	void *objects[100];

	tried++;
	if (!cache) { /* not every type can be had for every size */
		CHECK(flags & DRY_CACHE_TYPE_MASK && errno == EINVAL);
		return;
	}
	had++;
	exercise_cache(heap, cache, test_scaled(300), rng);
	CHECK_EQ(dry_cache_alloc_bulk(cache, 100, objects), 100);
	CHECK_EQ(stats_of(cache).active_objects, 100);
	for (int i = 0; i < 100; i++) {
		CHECK_EQ((uintptr_t)objects[i] % (align ? align : 8), 0);
		memset(objects[i], 0x3c, size);
	}
	rng_shuffle(rng, objects, 100);
	dry_cache_free_bulk(cache, 100, objects);
	CHECK_EQ(stats_of(cache).active_objects, 0);
	CHECK_EQ(dry_cache_check(cache), 0);
	dry_cache_shrink(cache);
	CHECK_EQ(stats_of(cache).slabs, 0);
	CHECK_EQ(dry_cache_destroy(cache), 0);
}

static void test_all(dry_heap *heap, struct rng *rng)
{
	for (size_t l = 0; l < sizeof(letters) / sizeof(letters[0]); l++)
		for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
			test_one(heap, 8 + rng_below(rng, 3000), 0, letters[l] | types[t], rng);
			test_one(heap, 1 + rng_below(rng, 600), (size_t)8 << rng_below(rng, 6), letters[l] | types[t], rng);
		}
	test_one(heap, 100, 65536, FZPU, rng);
	test_one(heap, 5000, 4096, FZPU, rng);
	test_one(heap, 300000, 0, FZPU | DRY_CACHE_QUARANTINE, rng);
	CHECK(had * 2 > tried);
}

/* Poison and a free list inside of free objects: the types that keep one work, and a write after free is found in each. */
static void test_inside(dry_heap *heap)
{
	dry_cache *cache = make_cache(heap, "inside", test_any_type(), 0, DRY_CACHE_POISON | DRY_CACHE_OBJFREELIST);

	CHECK(cache);
	CHECK_EQ(stats_of(cache).mgmt, DRY_MGMT_OBJFREELIST);
	CHECK_EQ(dry_cache_destroy(cache), 0);
	cache = make_cache(heap, "inside", 64, 0, DRY_CACHE_POISON | DRY_CACHE_CHAIN);
	CHECK(cache);
	CHECK_EQ(stats_of(cache).mgmt, DRY_MGMT_CHAIN);
	CHECK_EQ(dry_cache_destroy(cache), 0);
}

/* The pattern is there when an object comes out, whatever the slab used it for meanwhile. */
static void test_pattern(dry_heap *heap, unsigned type)
{
	size_t size = test_any_type();
	dry_cache *cache = make_cache(heap, "pattern", size, 0, DRY_CACHE_POISON | type);
	unsigned char *objects[500];

	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 500; i++) {
			CHECK(objects[i] = dry_cache_alloc(cache));
			for (size_t b = 0; b < size - 1; b++)
				CHECK_EQ(objects[i][b], 0x6b);
			CHECK_EQ(objects[i][size - 1], 0xa5);
			memset(objects[i], i, size);
		}
		for (int i = 0; i < 500; i++)
			dry_cache_free(cache, objects[(i * 7 + round) % 500]);
	}
	CHECK_EQ(dry_cache_destroy(cache), 0);
}

static void construct(void *object, void *arg)
{
	(void)arg;
	memset(object, 0x77, 100);
}

static void test_constructor(dry_heap *heap)
{
	struct dry_cache_attr attr = { .name = "constructed", .size = 100, .ctor = construct,
				       .flags = FZPU & ~DRY_CACHE_POISON };
	dry_cache *cache = dry_cache_create(heap, &attr);
	unsigned char *objects[200];

	CHECK(cache);
	for (int round = 0; round < 3; round++) {
		CHECK_EQ(dry_cache_alloc_bulk(cache, 200, (void **)objects), 200);
		for (int i = 0; i < 200; i++)
			CHECK(all_bytes(objects[i], 100, 0x77));
		dry_cache_free_bulk(cache, 200, (void **)objects);
	}
	CHECK_EQ(dry_cache_destroy(cache), 0);
}

static void test_quarantine(dry_heap *heap)
{
	dry_cache *cache = make_cache(heap, "kept", 64, 0, DRY_CACHE_QUARANTINE);
	void *first = dry_cache_alloc(cache);

	CHECK(first);
	dry_cache_free(cache, first);
	for (int i = 0; i < 1000; i++) {
		void *object = dry_cache_alloc(cache);

		CHECK(object && object != first);
		dry_cache_free(cache, object);
	}
	CHECK_EQ(stats_of(cache).active_objects, 0);
	CHECK(stats_of(cache).cached_objects > 1000);
	dry_cache_shrink(cache);
	CHECK_EQ(stats_of(cache).slabs, 0);
	CHECK_EQ(dry_cache_destroy(cache), 0);
}

static size_t owner_lines;

static void count_owner_lines(void *arg, const char *text, size_t bytes)
{
	(void)arg;
	owner_lines += memchr(text, '\n', bytes) != NULL;
}

__attribute__((noinline)) static void *one_place(dry_cache *cache)
{
	void *object = dry_cache_alloc(cache);

	OPAQUE(object);
	return object;
}

static void test_owners(void)
{
	dry_heap *heap = dry_heap_create(NULL);
	dry_cache *cache = make_cache(heap, "owned", 40, 0, DRY_CACHE_STORE_USER);
	size_t objects = 1, bytes = 1;
	void *held[300];

	dry_heap_owners(heap, NULL, NULL, &objects, &bytes);
	CHECK_EQ(objects, 0);
	CHECK_EQ(bytes, 0);
	for (int i = 0; i < 300; i++)
		CHECK(held[i] = one_place(cache));
	dry_heap_owners(heap, count_owner_lines, NULL, &objects, &bytes);
	CHECK_EQ(objects, 300);
	CHECK_EQ(bytes, 12000);
	CHECK(owner_lines >= 2 && owner_lines < 40); /* one place: one stack, or two */
	dry_cache_free_bulk(cache, 299, held);
	dry_heap_owners(heap, NULL, NULL, &objects, NULL);
	CHECK_EQ(objects, 1);
	dry_cache_free(cache, held[299]);
	CHECK_EQ(dry_heap_destroy(heap), 0);
}

#define DEPTH 11 /* calls, each from one of two places: that many bits of stacks */

__attribute__((noinline)) static void from_many(dry_cache *cache, unsigned way, int depth, unsigned count)
{
	if (depth == 0) {
		for (unsigned i = 0; i < count; i++)
			CHECK(one_place(cache));
	} else if (way & 1) {
		OPAQUE(cache); /* no two calls are one, and none is a jump */
		from_many(cache, way >> 1, depth - 1, count);
		OPAQUE(cache);
	} else {
		OPAQUE(count);
		from_many(cache, way >> 1, depth - 1, count);
		OPAQUE(count);
	}
}

static struct {
	size_t stacks, objects, last;
} many;

/* Those with most bytes come first. */
static void look_at_line(void *arg, const char *text, size_t bytes)
{
	char line[200];
	size_t objects, here;

	(void)arg;
	snprintf(line, sizeof(line), "%.*s", (int)bytes, text);
	if (sscanf(line, "%zu objects, %zu bytes allocated", &objects, &here) != 2)
		return;
	CHECK_EQ(here, objects * 40);
	CHECK(here <= many.last);
	many.last = here;
	many.objects += objects;
	many.stacks++;
}

/* Each stack is listed once, and by how much it has; twice the same. */
static void test_many_owners(void)
{
	dry_heap *heap = dry_heap_create(NULL);
	dry_cache *cache = make_cache(heap, "many", 40, 0, DRY_CACHE_STORE_USER);
	size_t objects, bytes, made = 0;

	for (unsigned way = 0; way < 1u << DEPTH; way++) {
		unsigned count = 1 + way * 37 % 101;
		from_many(cache, way, DEPTH, count);
		made += count;
	}
	for (int round = 0; round < 2; round++) {
		memset(&many, 0, sizeof(many));
		many.last = SIZE_MAX;
		dry_heap_owners(heap, look_at_line, NULL, &objects, &bytes);
		CHECK_EQ(objects, made);
		CHECK_EQ(bytes, made * 40);
		CHECK_EQ(many.objects, made);
		CHECK(many.stacks != 0);
#ifdef __x86_64__ /* elsewhere a frame pointer may be wanted */
		CHECK_EQ(many.stacks, 1u << DEPTH);
#endif
	}
	CHECK_EQ(dry_heap_destroy(heap), 0);
}

/* ---- in a process of its own, with DRYSTONE_CONF ---------------------------------------------------------- */

static unsigned flags_of(const char *name)
{
	dry_cache *cache = make_cache(NULL, name, 200, 0, DRY_CACHE_NO_MERGE);

	CHECK(cache);
	return stats_of(cache).flags & DRY_CACHE_DEBUG;
}

static int run_chosen(void)
{
	struct rng rng = { 5 };

	CHECK_EQ(flags_of("alpha"), DRY_CACHE_CHECKS | DRY_CACHE_RED_ZONE);
	CHECK_EQ(flags_of("alphabet"), 0);
	CHECK_EQ(flags_of("beta-1"), DRY_CACHE_POISON);
	CHECK_EQ(flags_of("beta"), DRY_CACHE_POISON);
	CHECK_EQ(flags_of("gamma"), FZPU);
	exercise_general(NULL, 16, 2000, &rng);
	return 0;
}

static int run_all(void)
{
	struct rng rng = { 6 };
	char *block;

	CHECK_EQ(flags_of("any"), FZPU);
	for (size_t size = 1; size < 32000; size += 1 + size / 5) {
		CHECK(block = dry_alloc(NULL, size));
		CHECK_EQ(dry_usable_size(NULL, block), size);
		memset(block, 0x11, size);
		if (size > 3) {
			CHECK(block = dry_realloc(NULL, block, size - 1));
			CHECK_EQ(dry_usable_size(NULL, block), size - 1);
			CHECK(all_bytes((unsigned char *)block, size - 1, 0x11));
		}
		CHECK(block = dry_realloc(NULL, block, size + 7));
		CHECK_EQ(dry_usable_size(NULL, block), size + 7);
		memset(block, 0x22, size + 7);
		dry_free(NULL, block);
	}
	for (size_t align = 8; align <= 4096; align *= 2) {
		CHECK(block = dry_alloc_aligned(NULL, align, 100));
		CHECK_EQ((uintptr_t)block % align, 0);
		CHECK_EQ(dry_usable_size(NULL, block), 100);
		dry_free(NULL, block);
	}
	exercise_general(NULL, 16, 3000, &rng);
	CHECK_EQ(dry_heap_check(NULL), 0);
	return 0;
}

static void start(const char *mode, const char *conf)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (!pid) {
		setenv("DRYSTONE_CONF", conf, 1);
		execl("/proc/self/exe", "test_debug", "--mode", mode, (char *)NULL);
		_exit(9);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--mode"))
		return !strcmp(argv[2], "all") ? run_all() : run_chosen();

	struct rng rng = { test_seed(argc, argv) };
	dry_heap *heap = dry_heap_create(NULL);

	CHECK(heap);
	test_all(heap, &rng);
	test_inside(heap);
	for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
		test_pattern(heap, types[t]);
	test_constructor(heap);
	test_quarantine(heap);
	CHECK_EQ(dry_heap_check(heap), 0);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	test_owners();
	test_many_owners();
	start("chosen", "debug:FZ/alpha,debug:P/beta*,debug:/gamma");
	start("all", "debug:FZPU");
	start("all", "debug:");
	return 0;
}
