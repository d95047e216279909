/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Damage to objects of debugged caches, for each management type: the first line names it, and
 * what follows names the object, its owners by function, and the caller.
 */
#include <drystone/drystone.h>
#include <sys/wait.h>

#include "../support/capture.h"
#include "../support/death.h"
#include "../support/pages.h"
#include "core/slab.h"

#define N    200
#define ANY  test_any_type()
#define FZPU (DRY_CACHE_CHECKS | DRY_CACHE_RED_ZONE | DRY_CACHE_POISON | DRY_CACHE_STORE_USER)

static unsigned char *objects[N];

__attribute__((noinline)) static void who_allocates(dry_cache *cache)
{
	for (int i = 0; i < N; i++)
		CHECK(objects[i] = dry_cache_alloc(cache));
	OPAQUE(cache);
}

__attribute__((noinline)) static void who_frees(dry_cache *cache)
{
	for (int i = 0; i < N; i++)
		dry_cache_free(cache, objects[i]);
	OPAQUE(cache);
}

static dry_cache *victim(size_t size, unsigned flags)
{
	struct dry_cache_attr attr = { .name = "victim", .size = size, .flags = flags };
	dry_cache *cache = dry_cache_create(dry_heap_create(NULL), &attr);

	CHECK(cache);
	who_allocates(cache);
	return cache;
}

static void write_at(dry_cache *cache, long offset)
{
	unsigned char *object = objects[N / 2];

	OPAQUE(object);
	death_at(object + offset);
	object[offset] ^= 0x10;
	OPAQUE(cache);
}

/* Written to while it is in use. */
static void in_use(size_t size, long offset, unsigned flags)
{
	dry_cache *cache = victim(size, flags);

	write_at(cache, offset);
	who_frees(cache);
}

/* Written to while it is free; then all come out again. */
static void when_free(size_t size, long offset, unsigned flags)
{
	dry_cache *cache = victim(size, flags);

	who_frees(cache);
	write_at(cache, offset);
	who_allocates(cache);
	who_allocates(cache);
}

#define CASE(name, call)            \
	static void run_##name(void) \
	{                           \
		call;               \
	}

CASE(after_bitmap, in_use(ANY, (long)ANY, FZPU | DRY_CACHE_BITMAP))
CASE(after_chain, in_use(64, 64, FZPU | DRY_CACHE_CHAIN))
CASE(after_objfreelist, in_use(256, 256, FZPU | DRY_CACHE_OBJFREELIST))
CASE(after_odd, in_use(61, 61, FZPU))
CASE(after_zone_only, in_use(100, 103, DRY_CACHE_RED_ZONE))
CASE(after_last_of_zone, in_use(64, 95, FZPU))
CASE(before_bitmap, in_use(64, -1, FZPU))
CASE(before_aligned, in_use(128, -60, FZPU | DRY_CACHE_HWALIGN))
CASE(before_free, when_free(64, -16, FZPU))
CASE(free_objfreelist, when_free(ANY, (long)ANY - 1, DRY_CACHE_POISON | DRY_CACHE_OBJFREELIST))
CASE(free_objfreelist_zone, when_free(256, 250, FZPU | DRY_CACHE_OBJFREELIST))
CASE(free_chain, when_free(64, 8, DRY_CACHE_POISON | DRY_CACHE_CHAIN))
CASE(free_off_slab, when_free(128, 0, FZPU | DRY_CACHE_OFF_SLAB))
CASE(owner_gone, in_use(64, 64 + 32, FZPU))

static void run_quarantine_shrink(void)
{
	dry_cache *cache = victim(64, FZPU | DRY_CACHE_QUARANTINE);

	who_frees(cache);
	write_at(cache, 5);
	dry_cache_shrink(cache);
}

static void twice(size_t size, unsigned flags)
{
	dry_cache *cache = victim(size, flags);

	who_frees(cache);
	death_at(objects[3]);
	dry_cache_free(cache, objects[3]);
}

CASE(twice, twice(64, FZPU))
CASE(twice_quarantine, twice(64, DRY_CACHE_QUARANTINE))
CASE(twice_objfreelist, twice(ANY, DRY_CACHE_STORE_USER | DRY_CACHE_OBJFREELIST))
CASE(twice_chain, twice(64, DRY_CACHE_RED_ZONE | DRY_CACHE_CHAIN))

#define AFTER  "^drystone: object was written beyond its end: 0x[0-9a-f]+, cache victim: 0xdc instead of 0xcc$"
#define BEFORE "^drystone: object was written before its start: 0x[0-9a-f]+, cache victim: 0xdc instead of 0xcc$"
#define FREE   "^drystone: free object was written to: 0x[0-9a-f]+, cache victim: 0x(7b|b5) instead of 0x(6b|a5)$"
#define TWICE  "^drystone: double free: 0x[0-9a-f]+, cache victim$"
#define GONE   "^drystone: object was written beyond its end: 0x[0-9a-f]+, cache victim: far beyond"

/* A slab whose count of objects is not right any more, whoever did it. */
static void run_slab_equation(void)
{
	dry_cache *cache = victim(ANY, DRY_CACHE_BITMAP | DRY_CACHE_CHECKS);
	struct dry_slab *slab = dry_slab_of(cache, objects[N / 2]);

	death_at(dry_slab_objects(cache, slab));
	slab->active--;
	dry_cache_free(cache, objects[N / 2]);
}

static const struct death_case cases[] = {
	{ "after-bitmap", AFTER, run_after_bitmap },
	{ "after-chain", AFTER, run_after_chain },
	{ "after-objfreelist", AFTER, run_after_objfreelist },
	{ "after-odd", AFTER, run_after_odd },
	{ "after-zone-only", AFTER, run_after_zone_only },
	{ "after-last-of-zone", AFTER, run_after_last_of_zone },
	{ "before-bitmap", BEFORE, run_before_bitmap },
	{ "before-aligned", BEFORE, run_before_aligned },
	{ "before-free", BEFORE, run_before_free },
	{ "free-objfreelist", FREE, run_free_objfreelist },
	{ "free-objfreelist-zone", FREE, run_free_objfreelist_zone },
	{ "free-chain", FREE, run_free_chain },
	{ "free-off-slab", FREE, run_free_off_slab },
	{ "quarantine-shrink", FREE, run_quarantine_shrink },
	{ "twice", TWICE, run_twice },
	{ "twice-quarantine", TWICE, run_twice_quarantine },
	{ "twice-objfreelist", TWICE, run_twice_objfreelist },
	{ "twice-chain", TWICE, run_twice_chain },
	{ "owner-gone", GONE, run_owner_gone },
	{ "slab-equation", "^drystone: internal inconsistency: 0x[0-9a-f]+, cache victim: slab: free \\+ active = num$",
	  run_slab_equation },
};

/* The whole report of a double free. */
static int verify_report(void)
{
	static const char *const parts[] = { "\nBUG victim: double free\n", "\nSlab 0x", "\nObject 0x",
					     "64 of 64 bytes asked for, free", "\nAllocated ", "who_allocates+0x",
					     "\nFreed ", "who_frees+0x", "\nRedzone ", "cc cc cc cc", "\nObject   0x",
					     "6b 6b 6b 6b", "6b a5 ", "\nCall trace, thread " };
	char text[16384];
	struct capture capture;
	int status;

	capture_begin(&capture);
	pid_t pid = fork();
	if (!pid)
		death_run_child(&(struct death_case){ "twice", TWICE, run_twice }, 2);
	pid_t waited = waitpid(pid, &status, 0);
	capture_end(&capture, text, sizeof(text));
	CHECK(waited == pid && WIFSIGNALED(status));
	const char *at = text;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const char *found = strstr(at, parts[i]);
		if (!found) {
			printf("FAIL report lacks \"%s\" in its place:\n%s\n", parts[i], text);
			return 1;
		}
		at = found;
	}
	printf("ok   report\n");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 1 && verify_report())
		return 1;
	return death_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
