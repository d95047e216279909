/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Memory for metadata: sizes, zeroes, reuse, a model of what is out, the limit of the heap, guard pages, and requests that
 * fail. Linked with fail_port.c.
 * DRY_TEST_NO_NORSEQ: pages know nothing of slots.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/bits.h"
#include "check.h"
#include "fail_port.h"
#include "page/extent.h"
#include "page/meta.h"
#include "random.h"

#define BLOCKS 300

struct block {
	unsigned char *at;
	size_t bytes;
	unsigned char stamp;
};

static struct dry_arena arena;
static struct dry_meta meta;
static struct block block[BLOCKS];

static void verify(void)
{
	const char *problem = dry_meta_check(&meta);

	if (problem == NULL)
		problem = dry_arena_check(&arena);
	if (problem != NULL)
		fprintf(stderr, "%s\n", problem);
	CHECK(problem == NULL);
}

/* false: the port refused it. */
static bool begin(size_t limit, void *memory, size_t size)
{
	struct dry_arena_attr attr = { .memory = memory, .memory_size = size, .reserve = (size_t)64 << 20, .limit = limit };

	if (dry_arena_init(&arena, &attr) != 0)
		return false;
	if (dry_meta_init(&meta, &arena) == 0)
		return true;
	dry_arena_fini(&arena);
	return false;
}

static void end(void)
{
	dry_meta_fini(&meta);
	dry_arena_fini(&arena);
}

static bool all_are(const unsigned char *at, size_t bytes, unsigned char value)
{
	while (bytes != 0 && at[bytes - 1] == value)
		bytes--;
	return bytes == 0;
}

static void take(struct rng *rng, struct block *b)
{
	b->bytes = rng_size(rng, rng_below(rng, 8) == 0 ? 18 : 13);
	b->stamp = (unsigned char)rng_next(rng);
	b->at = dry_meta_alloc(&meta, b->bytes);
	if (b->at == NULL)
		return;
	size_t size = (size_t)1 << dry_log2_ceil(b->bytes), page = (size_t)1 << arena.page_shift;
	CHECK(((uintptr_t)b->at & ((size < page ? size : page) - 1)) == 0);
	CHECK(all_are(b->at, b->bytes, 0));
	memset(b->at, b->stamp, b->bytes);
}

static void give(struct block *b)
{
	if (b->at == NULL)
		return;
	CHECK(all_are(b->at, b->bytes, b->stamp));
	dry_meta_free(&meta, b->at, b->bytes);
	b->at = NULL;
}

/* The number of requests that failed. */
static size_t model(struct rng *rng, size_t steps)
{
	size_t failed = 0, bytes = 0;

	for (size_t i = 0; i < steps; i++) {
		struct block *b = &block[rng_below(rng, BLOCKS)];
		if (b->at != NULL) {
			give(b);
		} else {
			take(rng, b);
			failed += b->at == NULL;
		}
		if (i % 16 == 0)
			verify();
		if (i % 500 == 0)
			dry_meta_purge(&meta);
	}
	for (size_t i = 0; i < BLOCKS; i++)
		bytes += block[i].at != NULL ? block[i].bytes : 0;
	CHECK(meta.bytes >= bytes && meta.bytes >> arena.page_shift <= meta.pages);
	for (size_t i = 0; i < BLOCKS; i++)
		give(&block[i]);
	verify();
	CHECK_EQ(meta.bytes, 0);
	CHECK_EQ(meta.pages, 0);
	CHECK_EQ(arena.charged, 0);
	CHECK_EQ(arena.used, 0);
	dry_meta_purge(&meta);
	CHECK_EQ(meta.own.free_dirty, 0);
	return failed;
}

static void models(struct rng *rng)
{
	size_t bytes = (size_t)8 << 20;
	unsigned char *memory = malloc(bytes);

	CHECK(begin(0, NULL, 0));
	CHECK_EQ(model(rng, test_scaled(20000)), 0);
	end();
	CHECK(begin((size_t)300 << 10, NULL, 0));
	CHECK(model(rng, test_scaled(20000)) != 0);
	end();
	CHECK(begin(0, memory, bytes));
	CHECK_EQ(model(rng, test_scaled(5000)), 0);
	take(rng, &block[0]);
	CHECK(block[0].at >= memory && block[0].at < memory + bytes);
	block[0].at = NULL;
	end();
	CHECK(begin(0, memory, (size_t)256 << 10));
	CHECK(model(rng, test_scaled(5000)) != 0);
	end();
	free(memory);
}

/* Blocks and metadata together stay within the limit, to the page. */
static void one_limit(void)
{
	size_t limit = 100;

	CHECK(begin(limit * dry_port_page_size(), NULL, 0));
	limit = arena.limit_pages;
	CHECK(dry_meta_alloc(&meta, 10 << arena.page_shift) != NULL);
	struct dry_page *run = dry_arena_alloc(&arena, (uint32_t)limit - 12, 1, 0);
	CHECK(run != NULL);
	CHECK(dry_meta_alloc(&meta, 3 << arena.page_shift) == NULL);
	CHECK(dry_arena_alloc(&arena, 3, 1, 0) == NULL);
	void *pages = dry_meta_alloc(&meta, 2 << arena.page_shift);
	CHECK(pages != NULL);
	CHECK(dry_meta_alloc(&meta, 1) == NULL && dry_arena_alloc(&arena, 1, 1, 0) == NULL);
	verify();
	dry_meta_free(&meta, pages, 2 << arena.page_shift);
	CHECK(dry_meta_alloc(&meta, 1) != NULL && dry_arena_alloc(&arena, 1, 1, 0) != NULL);
	CHECK(dry_meta_alloc(&meta, SIZE_MAX) == NULL && dry_meta_alloc(&meta, SIZE_MAX / 2) == NULL);
	verify();
	end();
}

/* Whether a write there ends a process. */
static bool faults(volatile void *at)
{
	pid_t child;
	int status;

	fflush(NULL);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		*(volatile char *)at = 1;
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	return WIFSIGNALED(status);
}

static void guarded(char *start, size_t size)
{
	CHECK(faults(start - 1) && faults(start - 1024));
	CHECK(faults(start + size) && faults(start + size + 1024));
}

static void guards(void)
{
	size_t page = dry_port_page_size(), size = DRY_META_BIG + page;
	struct dry_extents extents;
	size_t dirty;

	CHECK(begin(0, NULL, 0));
	char *big = dry_meta_alloc(&meta, size);
	CHECK(big != NULL && !faults(big) && !faults(big + size - 1));
	guarded(big, size);
	/* Whatever the neighbours are: pages there are reserved, so mmap() puts nothing into them. */
	CHECK(mmap(big + size, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
		   0) == MAP_FAILED);
	dry_meta_free(&meta, big, size);
	CHECK(faults(big));
	char *small = dry_meta_alloc(&meta, 64);
	CHECK(small != NULL && !faults(small));
	guarded((char *)meta.own.base, (size_t)meta.own.reserved << meta.own.page_shift);
	CHECK(dry_arena_alloc(&arena, 1, 1, 0) != NULL);
	guarded(arena.chunk_array.start, arena.chunk_array.reserved + (arena.window ? arena.desc_array.reserved : 0));
	CHECK(!arena.window || arena.desc_array.start == (char *)arena.chunk_array.start + arena.chunk_array.reserved);
	guarded(arena.map_array.start, arena.map_array.reserved);
	dry_extents_init(&extents, 0, 1, NULL);
	CHECK(dry_extent_alloc(&extents, 1, 1, 0, &dirty) != NULL && !faults(extents.table));
	guarded((char *)extents.table, extents.buckets * sizeof(struct dry_extent));
	dry_extent_decay(&extents, 0);
	dry_extents_fini(&extents);
	end();
}

/*
 * An area grows where it is, within the limit of the heap, as far as nobody is in the way; what lies behind it faults. One that
 * would begin where something is begins elsewhere.
 */
static void areas(void)
{
	size_t first = DRY_META_AREA, most = 8 * first, pages, next;
	char *area, *other, *way;

	CHECK(begin(40 * first, NULL, 0));
	if (!arena.window) { /* it is there as a whole */
		area = dry_meta_area_alloc(&meta, first, most);
		CHECK(area != NULL && all_are((unsigned char *)area, most, 0));
		CHECK(dry_meta_area_extend(&meta, area, first, most, most));
		dry_meta_area_free(&meta, area, first, most, most);
		dry_meta_area_free(&meta, area, 0, first, most);
		end();
		return;
	}
	pages = first >> arena.page_shift;
	atomic_store(&dry_fail_calls, 0);
	area = dry_meta_area_alloc(&meta, first, most);
	CHECK_EQ(atomic_load(&dry_fail_calls), 1);
	CHECK(area != NULL && meta.pages == pages && arena.charged == pages);
	CHECK(all_are((unsigned char *)area, first, 0));
	memset(area, 1, first);
	guarded(area, first);
	CHECK(dry_meta_area_extend(&meta, area, first, 2 * first, most));
	CHECK(all_are((unsigned char *)area, first, 1) && all_are((unsigned char *)area + first, first, 0));
	guarded(area, 2 * first);
	CHECK_EQ(meta.pages, 2 * pages);
	way = mmap(area + 3 * first, first, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	CHECK(way == area + 3 * first);
	CHECK(!dry_meta_area_extend(&meta, area, 2 * first, 4 * first, most));
	CHECK(meta.pages == 2 * pages && meta.bytes == 2 * first && arena.charged == 2 * pages);
	verify();
	CHECK_EQ(munmap(way, first), 0);
	CHECK(dry_meta_area_extend(&meta, area, 2 * first, most, most));
	guarded(area, most);
	/* The next one lies where the first one's place ends, so somebody can be there. */
	next = most + first;
	way = mmap(area + next, first, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	CHECK(way == area + next);
	other = dry_meta_area_alloc(&meta, first, most);
	CHECK(other != NULL && other != way && (other >= area + next || other + most <= area));
	CHECK_EQ(munmap(way, first), 0);
	/* Of the limit 31 are left. */
	CHECK(dry_arena_alloc(&arena, (uint32_t)(30 * pages), 1, 0) != NULL);
	CHECK(!dry_meta_area_extend(&meta, other, first, 3 * first, most) && dry_meta_area_alloc(&meta, 2 * first, most) == NULL);
	CHECK(dry_meta_area_extend(&meta, other, first, 2 * first, most));
	verify();
	dry_meta_area_free(&meta, other, first, 2 * first, most);
	CHECK(!faults(other) && faults(other + first));
	dry_meta_area_free(&meta, other, 0, first, most);
	dry_meta_area_free(&meta, area, 0, most, most);
	CHECK(faults(other) && faults(area) && meta.pages == 0 && meta.bytes == 0 && arena.charged == 0);
	verify();
	end();
}

/* The child of a fork that held the locks goes on. */
static void fork_child(void)
{
	int status;

	CHECK(begin(0, NULL, 0));
	char *here = dry_meta_alloc(&meta, 100);
	dry_lock_acquire_unranked(&meta.lock); /* fork() itself takes locks */
	dry_lock_acquire_unranked(&meta.own.lock);
	dry_lock_acquire_unranked(&arena.lock);
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		dry_meta_after_fork(&meta);
		dry_arena_after_fork(&arena);
		dry_lock_reinit(&arena.lock);
		dry_lock_reinit(&meta.own.lock);
		dry_lock_reinit(&meta.lock);
		dry_meta_free(&meta, here, 100);
		CHECK(dry_meta_alloc(&meta, 5000) != NULL);
		verify();
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	dry_lock_release(&arena.lock);
	dry_lock_release(&meta.own.lock);
	dry_lock_release(&meta.lock);
	end();
}

/* Every request to the port fails once, or from one on. */
static void exhaustion(uint64_t seed)
{
	struct rng rng = { seed };
	long made;

	for (int after = 0; after < 2; after++) {
		made = 0;
		for (long at = 1; at < 60; at++) {
			atomic_store(&dry_fail_calls, 0);
			atomic_store(&dry_fail_after, after != 0);
			atomic_store(&dry_fail_at, at);
			if (begin(0, NULL, 0)) {
				CHECK(model(&rng, 300) != 0 || atomic_load(&dry_fail_calls) < at || !after);
				end();
				made++;
			}
			atomic_store(&dry_fail_at, 0);
		}
		CHECK(made > 40);
	}
}

int main(int argc, char **argv)
{
	uint64_t seed = test_seed(argc, argv);
	struct rng rng = { seed };

	models(&rng);
	one_limit();
	guards();
	areas();
	fork_child();
	exhaustion(seed);
	return 0;
}
