/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * dry_guard(): sampling begins and ends while the program runs; guarded blocks are blocks like others, and their
 * size is exact. Objects of caches, too, are guarded, or sampled for a profile; they are constructed, aligned and counted as
 * all are.
 */
/* DRY_TEST_NOT_TINY: it has no guarded blocks. */
#include <drystone/process.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/random.h"

#define N 4000

static unsigned char *blocks[N];
static size_t sizes[N];

static size_t extents(void)
{
	struct dry_heap_stats stats;

	CHECK(!dry_heap_stats(NULL, &stats));
	return stats.extents;
}

/* Fills all; the bytes that guarded blocks take. */
static size_t fill(struct rng *rng)
{
	size_t before = extents();

	for (size_t i = 0; i < N; i++) {
		sizes[i] = 1 + rng_below(rng, 3000);
		blocks[i] = i % 2 ? dry_alloc(NULL, sizes[i]) : dry_zalloc(NULL, sizes[i]);
		CHECK(blocks[i]);
		CHECK((uintptr_t)blocks[i] % (sizes[i] < 16 ? 8 : 16) == 0);
		CHECK(dry_usable_size(NULL, blocks[i]) >= sizes[i]);
		for (size_t k = 0; k < sizes[i] && i % 2 == 0; k++)
			CHECK(!blocks[i][k]);
		memset(blocks[i], (int)i, sizes[i]);
	}
	return extents() - before;
}

static void resize_and_drop(struct rng *rng)
{
	for (size_t i = 0; i < N; i++) {
		size_t size = 1 + rng_below(rng, 6000);
		unsigned char *moved = dry_realloc(NULL, blocks[i], size);

		CHECK(moved);
		for (size_t k = 0; k < size && k < sizes[i]; k++)
			CHECK(moved[k] == (unsigned char)i);
		dry_free(NULL, moved);
	}
}

/* ---- objects of caches -------------------------------------------------------------------------- */

#define OBJECTS 2000
#define MARK    0x5e

static unsigned char *objects[OBJECTS];
static size_t constructed;

static size_t guarded(void)
{
	struct dry_heap_stats stats;

	CHECK(!dry_heap_stats(NULL, &stats));
	return stats.guarded;
}

/* Bytes of samples of typed caches that are live; libc may allocate meanwhile, too. */
static size_t sampled(void)
{
	char path[] = "/tmp/drystone-XXXXXX", line[4096];
	size_t sum = 0, bytes;
	bool typed = false;
	int fd = mkstemp(path);
	FILE *file;

	CHECK(fd >= 0 && close(fd) == 0 && dry_profile_write(path) == 0);
	CHECK(file = fopen(path, "r"));
	while (fgets(line, sizeof(line), file) != NULL) {
		if (typed && sscanf(line, "%*u: %zu", &bytes) == 1)
			sum += bytes;
		typed = sscanf(line, "# cache %*u %c", &(char){ 0 }) == 1;
	}
	CHECK(fclose(file) == 0 && unlink(path) == 0);
	return sum;
}

static size_t (*taken_by)(void) = guarded;

static void construct(void *object, void *size)
{
	memset(object, MARK, *(size_t *)size);
	constructed++;
}

static void destruct(void *object, void *size)
{
	for (size_t i = 0; i < *(size_t *)size; i++)
		CHECK(((unsigned char *)object)[i] == MARK);
	constructed--;
}

static size_t active(dry_cache *cache)
{
	struct dry_cache_stats stats;

	CHECK(!dry_cache_stats(cache, &stats));
	CHECK(stats.objects == stats.slabs * stats.objects_per_slab);
	CHECK(stats.active_objects + stats.cached_objects <= stats.objects);
	return stats.active_objects;
}

static void free_all(dry_cache *cache, struct rng *rng)
{
	for (size_t i = OBJECTS; i > 1; i--) { /* in any order */
		size_t k = rng_below(rng, i);
		unsigned char *swap = objects[i - 1];

		objects[i - 1] = objects[k];
		objects[k] = swap;
	}
	for (size_t i = 0; i < OBJECTS / 4; i++)
		dry_cache_free(cache, objects[i]);
	for (size_t i = OBJECTS / 4; i < OBJECTS / 2; i++)
		dry_free(NULL, objects[i]);
	dry_cache_free_bulk(cache, OBJECTS / 2, (void **)objects + OBJECTS / 2);
}

/* Bytes of guarded objects, or of sampled ones, are returned. */
static size_t use_cache(struct dry_cache_attr attr, struct rng *rng)
{
	dry_cache *cache = dry_cache_create(NULL, &attr);
	size_t before = taken_by(), taken, align = attr.align ? attr.align : 8;

	CHECK(cache);
	constructed = 0;
	for (size_t i = 0; i < OBJECTS; i++) {
		bool zero = i % 2 && !attr.ctor;

		CHECK(objects[i] = zero ? dry_cache_zalloc(cache) : dry_cache_alloc(cache));
		CHECK((uintptr_t)objects[i] % align == 0);
		for (size_t k = 0; k < attr.size && (attr.ctor || zero); k++)
			CHECK(objects[i][k] == (zero ? 0 : MARK));
		memset(objects[i], attr.ctor ? MARK : (int)i, attr.size);
	}
	taken = taken_by() - before;
	CHECK_EQ(active(cache), OBJECTS);
	CHECK(dry_cache_destroy(cache) != 0); /* says that all are still out */
	CHECK_EQ(active(cache), OBJECTS);
	for (size_t i = 0; i < OBJECTS && !attr.ctor; i++)
		CHECK(objects[i][0] == (unsigned char)i && objects[i][attr.size - 1] == (unsigned char)i);
	free_all(cache, rng);
	CHECK_EQ(taken_by(), before);
	dry_cache_shrink(cache);
	CHECK_EQ(active(cache), 0);
	CHECK(!dry_cache_check(cache));
	CHECK(!dry_cache_destroy(cache));
	CHECK_EQ(constructed, 0);
	return taken;
}

static size_t use_caches(struct rng *rng)
{
	static size_t size = 100;
	size_t taken = 0;

	for (size_t align = 0; align <= 4096; align = align ? align * 8 : 8) {
		size_t plain = use_cache((struct dry_cache_attr){ .name = "plain", .size = 40, .align = align }, rng);
		size_t made = use_cache((struct dry_cache_attr){ .name = "made", .size = size, .align = align, .ctor = construct,
								 .dtor = destruct, .arg = &size }, rng);

		CHECK((plain != 0) == (made != 0));
		taken += plain + made;
	}
	/* Also what is aligned to more than a page. */
	size_t wide = use_cache((struct dry_cache_attr){ .name = "wide", .size = 40, .align = 65536 }, rng);
	CHECK((wide != 0) == (taken != 0));
	return taken;
}

static size_t guarded_now(struct rng *rng)
{
	size_t bytes = fill(rng);

	resize_and_drop(rng);
	return bytes;
}

/* What dry_guard() and dry_ctl() began, the other one ends and changes. */
static void set_by_options(struct rng *rng)
{
	CHECK(!dry_guard(1));
	CHECK(guarded_now(rng) != 0);
	CHECK(!dry_ctl("guard_rate", "2"));
	CHECK(guarded_now(rng) != 0);
	CHECK(!dry_ctl("guard", "0"));
	CHECK_EQ(guarded_now(rng), 0);
	CHECK(!dry_ctl("guard_rate", "1"));
	CHECK_EQ(guarded_now(rng), 0);
	for (int round = 0; round < 2; round++) {
		CHECK(!dry_ctl("guard", "1"));
		CHECK(guarded_now(rng) != 0);
		CHECK(!dry_guard(0));
		CHECK_EQ(guarded_now(rng), 0);
	}
}

/* Of caches that share slabs each object is aligned as its own cache has it. */
static void use_alias(void)
{
	struct dry_cache_attr attr = { .name = "alias", .size = 40, .flags = DRY_CACHE_HWALIGN };
	dry_cache *cache[2] = { dry_cache_create(NULL, &attr), dry_cache_create(NULL, &attr) };

	for (size_t i = 0; i < OBJECTS; i++) {
		CHECK(objects[i] = dry_cache_alloc(cache[i % 2]));
		CHECK((uintptr_t)objects[i] % 64 == 0);
	}
	for (size_t i = 0; i < OBJECTS; i++)
		dry_cache_free(cache[i % 2], objects[i]);
	CHECK(!dry_cache_destroy(cache[1]) && !dry_cache_destroy(cache[0]));
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };

	/* What is watched anyway has had its turn. */
	fill(&rng);
	resize_and_drop(&rng);

	CHECK(!dry_guard(1));
	CHECK(fill(&rng) >= 4096);
	resize_and_drop(&rng);
	CHECK(use_caches(&rng) >= 12 * 4096);
	use_alias();

	CHECK(!dry_guard(0));
	CHECK_EQ(fill(&rng), 0);
	resize_and_drop(&rng);
	CHECK_EQ(use_caches(&rng), 0);

	set_by_options(&rng);

	taken_by = sampled;
	CHECK(!dry_profile_heap(1));
	CHECK(use_caches(&rng) >= 12 * OBJECTS * 40);
	CHECK_EQ(dry_profile_write(NULL), -EINVAL);
	CHECK(!dry_profile_heap(0));
	CHECK_EQ(use_caches(&rng), 0);
	CHECK(!dry_heap_check(NULL));
	return 0;
}
