/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Errors with guarded objects of caches, which dry_guard() samples; and with those of which a profile is made.
 */
#include <drystone/drystone.h>
#include <stdint.h>

#include "../support/death.h"

static dry_cache *cache, *other;

static size_t guarded(void)
{
	struct dry_heap_stats stats;

	CHECK(!dry_heap_stats(NULL, &stats));
	return stats.guarded;
}

/* Of `cache`; it is what the report names. */
static char *object(void)
{
	char *found = NULL;
	size_t before;

	CHECK(!dry_guard(1));
	CHECK(cache = dry_cache_create(NULL, &(struct dry_cache_attr){ .name = "victim", .size = 20, .align = 16 }));
	CHECK(other = dry_cache_create(NULL, &(struct dry_cache_attr){ .name = "other", .size = 2000 }));
	for (before = guarded(); guarded() == before;)
		CHECK(found = dry_cache_alloc(cache));
	death_at(found);
	return found;
}

static void run_twice(void)
{
	char *victim = object();

	dry_cache_free(cache, victim);
	dry_cache_free(cache, victim);
}

static void run_bulk(void)
{
	void *both[2];

	both[0] = both[1] = object();
	dry_cache_free_bulk(cache, 2, both);
}

static void run_other(void)
{
	char *victim = object();

	dry_cache_free(other, victim);
}

static void run_interior(void)
{
	char *victim = object();

	death_at(victim + 8);
	dry_cache_free(cache, victim + 8);
}

static void run_beyond(void)
{
	volatile char *victim = object();

	victim[20] = 1;
	death_at((char *)victim + 20);
	dry_cache_free(cache, (char *)victim);
}

/* Given to a cache, and never one of its own. */
static void run_of_no_cache(void)
{
	void *victim = NULL;

	object();
	for (size_t before = guarded(); guarded() == before;)
		CHECK(victim = dry_alloc(NULL, 20));
	death_at(victim);
	dry_cache_free(cache, victim);
}

/* Of `cache`, like all its others. */
static char *sampled(void)
{
	CHECK(!dry_profile_heap(1));
	CHECK(cache = dry_cache_create(NULL, &(struct dry_cache_attr){ .name = "victim", .size = 40 }));
	CHECK(other = dry_cache_create(NULL, &(struct dry_cache_attr){ .name = "other", .size = 2000 }));
	char *found = dry_cache_alloc(cache);
	CHECK(found);
	death_at(found);
	return found;
}

static void run_sampled_twice(void)
{
	char *victim = sampled();

	dry_cache_free(cache, victim);
	dry_cache_free(cache, victim);
}

static void run_sampled_bulk(void)
{
	void *both[2];

	both[0] = both[1] = sampled();
	dry_cache_free_bulk(cache, 2, both);
}

static void run_sampled_other(void)
{
	char *victim = sampled();

	dry_cache_free(other, victim);
}

static void run_sampled_interior(void)
{
	char *victim = sampled();

	death_at(victim + 8);
	dry_cache_free(cache, victim + 8);
}

static void run_sampled_of_no_cache(void)
{
	void *victim = NULL;

	sampled();
	CHECK(victim = dry_alloc(NULL, 40));
	death_at(victim);
	dry_cache_free(cache, victim);
}

#define AT    "0x[0-9a-f]+: [0-9]+ bytes "
#define AMONG "^drystone: invalid pointer: 0x[0-9a-f]+: among sampled blocks: freed twice, or no start of one"
#define WRONG "^drystone: object of another cache: 0x[0-9a-f]+"

static const struct death_case cases[] = {
	{ "twice", "^drystone: double free: " AT "into a freed block of 20 bytes", run_twice },
	{ "bulk", "^drystone: double free: " AT "into a freed block of 20 bytes", run_bulk },
	{ "other", "^drystone: object of another cache: " AT "into a block of 20 bytes", run_other },
	{ "interior", "^drystone: pointer into the middle of an object: " AT "into a block of 20 bytes", run_interior },
	{ "beyond", "^drystone: object was written beyond its end: " AT "after a block of 20 bytes", run_beyond },
	{ "of-no-cache", "^drystone: object of another cache: " AT "into a block of 20 bytes", run_of_no_cache },
	{ "sampled-twice", AMONG, run_sampled_twice },
	{ "sampled-bulk", AMONG, run_sampled_bulk },
	{ "sampled-other", WRONG ", cache other: victim", run_sampled_other },
	{ "sampled-interior", AMONG, run_sampled_interior },
	{ "sampled-of-no-cache", WRONG ", cache victim: of no cache", run_sampled_of_no_cache },
};

int main(int argc, char **argv)
{
	return death_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
