/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Extents against a model of what lives where; then by several threads at once. DRY_TEST_NO_NORSEQ: pages know nothing of slots. */
#include <pthread.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "check.h"
#include "page/dense.h"
#include "page/extent.h"
#include "port_source.h"
#include "random.h"

#define HELD    300
#define THREADS 4
#define CAP     (2048 * dry_port_page_size())

struct block {
	char *at;
	size_t asked, size;
	uint64_t stamp;
};

static struct dry_extents extents;

static uint64_t *last_word(const struct block *block)
{
	return (uint64_t *)(block->at + block->size - 8);
}

static void stamp(struct block *block)
{
	block->stamp += (uintptr_t)block->at;
	*(uint64_t *)block->at = block->stamp;
	*last_word(block) = ~block->stamp;
}

static void verify_stamp(const struct block *block)
{
	CHECK(*(uint64_t *)block->at == block->stamp);
	CHECK(*last_word(block) == ~block->stamp);
}

static size_t random_size(struct rng *rng)
{
	return 1 + rng_below(rng, (size_t)1 << (13 + rng_below(rng, 12)));
}

static void make(struct block *block, struct rng *rng)
{
	size_t align = (size_t)1 << rng_below(rng, 22);
	size_t dirty;

	block->asked = random_size(rng);
	block->at = dry_extent_alloc(&extents, block->asked, align, 0, &dirty);
	CHECK(block->at != NULL);
	CHECK(((uintptr_t)block->at & (align - 1)) == 0);
	CHECK_EQ((uintptr_t)block->at % dry_port_page_size(), 0);
	block->size = dry_extent_size(&extents, block->at);
	CHECK(block->size >= block->asked && block->size % dry_port_page_size() == 0);
	CHECK(block->size <= (block->asked + dry_port_page_size()) / 4 * 5);
	CHECK(dirty <= block->size);
	if (dirty == 0)
		CHECK(*(uint64_t *)block->at == 0);
	if (dirty < block->size)
		CHECK(*last_word(block) == 0 && *(uint64_t *)(block->at + dirty) == 0);
	stamp(block);
}

static void change(struct block *block, struct rng *rng)
{
	size_t size = random_size(rng), page = dry_port_page_size(), dirty;
	char *moved = dry_extent_resize(&extents, block->at, size, &dirty);
	struct block was = *block;

	if (moved == NULL) {
		verify_stamp(block);
		CHECK_EQ(dry_extent_size(&extents, block->at), block->size);
		CHECK(size > block->size); /* smaller always works */
		return;
	}
	block->at = moved;
	size = (size + page - 1) / page * page;
	block->size = dry_extent_size(&extents, moved);
	CHECK(block->size >= size && block->size <= size + size / 8 + page && block->size % page == 0);
	CHECK(size > was.size || block->size == size);
	CHECK(*(uint64_t *)moved == was.stamp);
	if (block->size > was.size)
		CHECK(*(uint64_t *)(moved + was.size - 8) == ~was.stamp);
	CHECK(dirty == 0 || was.size + dirty == block->size);
	if (dirty == 0 && block->size > was.size)
		CHECK(*last_word(block) == 0 && *(uint64_t *)(moved + was.size) == 0);
	stamp(block);
}

static void drop(struct block *block)
{
	verify_stamp(block);
	CHECK(dry_extent_free(&extents, block->at));
	block->at = NULL;
}

static void look(struct block *held, struct rng *rng)
{
	struct block *block = &held[rng_below(rng, HELD)];
	size_t offset, dirty;

	if (block->at == NULL)
		return;
	offset = 1 + rng_below(rng, block->size - 1);
	CHECK(dry_extent_of(&extents, block->at + offset) == block->at);
	CHECK_EQ(dry_extent_size(&extents, block->at + offset), 0);
	CHECK(!dry_extent_free(&extents, block->at + offset));
	CHECK(dry_extent_resize(&extents, block->at + offset, 1, &dirty) == NULL);
	CHECK_EQ(dry_extent_size(&extents, held), 0);
	CHECK(dry_extent_of(&extents, held) == NULL);
	CHECK(!dry_extent_free(&extents, NULL));
}

static void verify(const struct block *held)
{
	const char *problem = dry_extents_check(&extents);
	size_t live = 0, bytes = 0, i;

	if (problem != NULL)
		fprintf(stderr, "%s\n", problem);
	CHECK(problem == NULL);
	for (i = 0; i < HELD; i++) {
		if (held[i].at == NULL)
			continue;
		live++;
		bytes += held[i].size;
	}
	CHECK_EQ(extents.live, live);
	CHECK_EQ(extents.promised, live);
	CHECK_EQ(extents.live_bytes, bytes);
}

static void against_model(struct rng *rng)
{
	static struct block held[HELD];
	size_t steps = test_scaled(6000), i;

	dry_extents_init(&extents, CAP, 1, NULL);
	CHECK_EQ(dry_extent_size(&extents, held), 0);
	for (i = 0; i < steps; i++) {
		struct block *block = &held[rng_below(rng, HELD)];
		size_t what = rng_below(rng, 100);

		if (what < 5)
			look(held, rng);
		else if (what < 6)
			dry_extent_decay(&extents, (unsigned)rng_below(rng, 3));
		else if (block->at == NULL)
			make(block, rng);
		else if (what < 40)
			change(block, rng);
		else
			drop(block);
		verify(held);
	}
	for (i = 0; i < HELD; i++)
		if (held[i].at != NULL)
			drop(&held[i]);
	verify(held);
	CHECK(extents.cached_bytes > 0);
	CHECK(dry_extent_decay(&extents, 0) > 0);
	CHECK_EQ(extents.cached_bytes, 0);
	CHECK_EQ(extents.cached, 0);
	dry_extents_fini(&extents);
}

static char *take(size_t pages, size_t *dirty)
{
	char *at = dry_extent_alloc(&extents, pages * dry_port_page_size(), 1, 0, dirty);

	CHECK(at != NULL && dry_extents_check(&extents) == NULL);
	return at;
}

/* For sizes in pages: where those are big, nothing is rounded up to huge ones. */
static void begin(void)
{
	dry_extents_init(&extents, CAP, 1, NULL);
	extents.usual.filled = 0;
}

static void give(void *at)
{
	CHECK(dry_extent_free(&extents, at) && dry_extents_check(&extents) == NULL);
}

/* A freed extent is split for what fits, and is one again when its parts are freed. */
static void reuse(void)
{
	size_t page = dry_port_page_size(), dirty;
	char *whole, *low, *high;

	begin();
	whole = take(100, &dirty);
	CHECK_EQ(dirty, 0);
	CHECK(dry_extent_alloc(&extents, 0, page, 0, &dirty) == NULL);
	CHECK(dry_extent_alloc(&extents, SIZE_MAX - 1, page, 0, &dirty) == NULL);
	CHECK(dry_extent_alloc(&extents, SIZE_MAX / 2, page, 0, &dirty) == NULL);
	give(whole);
	CHECK(!dry_extent_free(&extents, whole));
	CHECK(dry_extent_was_freed(&extents, whole) && dry_extent_was_freed(&extents, whole + 99 * page));
	low = take(60, &dirty);
	CHECK(low == whole && dirty == 60 * page && dry_extent_size(&extents, low) == 60 * page);
	CHECK(!dry_extent_was_freed(&extents, whole));
	high = take(38, &dirty); /* what is left over is not worth to be kept apart */
	CHECK(high == whole + 60 * page && dry_extent_size(&extents, high) == 40 * page);
	CHECK_EQ(extents.cached, 0);
	CHECK_EQ(dry_extent_free(&extents, low), true);
	CHECK_EQ(dry_extent_free(&extents, high), true);
	CHECK_EQ(extents.cached, 1);
	CHECK_EQ(extents.cached_bytes, 100 * page);
	CHECK_EQ(atomic_load(&extents.fresh), 100 * page);
	dry_extents_fini(&extents);
}

/* The smallest that fits, not the first; and where none does, the biggest with new pages behind it. */
static void fit(void)
{
	size_t page = dry_port_page_size(), dirty, apart;
	size_t moved = 90 * page < DRY_DENSE_UNIT ? 90 * page : dry_round_down(90 * page, DRY_DENSE_UNIT);
	char *block[5], *got;

	begin();
	for (size_t i = 0; i < 5; i++) { /* every other one stays, so that they are not joined */
		static const size_t pages[] = { 90, 10, 50, 10, 70 };
		block[i] = take(pages[i], &dirty);
	}
	for (size_t i = 0; i < 5; i += 2)
		give(block[i]);
	memset(block[0], 7, page);
	apart = extents.cached;
	got = take(60, &dirty);
	if (apart != 3) { /* the system put what stays elsewhere, into gaps: they are one */
		dry_extents_fini(&extents);
		return;
	}
	CHECK(got == block[4] && dirty == dry_extent_size(&extents, got));
	give(got);
	got = take(200, &dirty);
	CHECK(dirty == 0 || (dirty == moved && got[0] == 7));
	for (size_t at = dirty; at < 200 * page; at += page)
		CHECK_EQ(got[at], 0);
	CHECK_EQ(dry_extent_size(&extents, got), 200 * page);
	CHECK(dry_extents_check(&extents) == NULL);
	dry_extents_fini(&extents);
}

/* It grows into what is spare behind it, and what it gives up is spare. */
static void in_place(void)
{
	size_t page = dry_port_page_size(), dirty;
	char *at, *other;

	begin();
	at = take(100, &dirty);
	CHECK(dry_extent_resize(&extents, at, 20 * page, &dirty) == at && dirty == 0);
	CHECK_EQ(extents.cached_bytes, 80 * page);
	CHECK(dry_extent_resize(&extents, at, 60 * page, &dirty) == at && dirty == 40 * page);
	CHECK_EQ(dry_extent_size(&extents, at), 60 * page);
	CHECK_EQ(extents.cached_bytes, 40 * page);
	other = take(40, &dirty);
	CHECK(other == at + 60 * page && dirty == 40 * page);
	CHECK_EQ(atomic_load(&extents.fresh), 100 * page);
	CHECK(dry_extents_check(&extents) == NULL);
	dry_extents_fini(&extents);
}

/* What nobody needs goes back: after the time that was said, and at once what is over the cap. */
static void decay(void)
{
	size_t page = dry_port_page_size(), dirty;

	dry_extents_init(&extents, CAP, 1, NULL);
	give(take(100, &dirty));
	CHECK_EQ(dry_extent_decay(&extents, 3), 0);
	CHECK_EQ(dry_extent_decay(&extents, 3), 0);
	CHECK_EQ(extents.cached_bytes, 100 * page);
	CHECK_EQ(dry_extent_decay(&extents, 3), 100 * page);
	CHECK_EQ(extents.cached_bytes, 0);
	give(take(3 * CAP / page, &dirty));
	CHECK_EQ(extents.cached_bytes, CAP - CAP / 4);
	CHECK_EQ(dry_extent_balance(&extents, CAP / 4, CAP), 0);
	CHECK_EQ(dry_extent_balance(&extents, CAP / 4, CAP / 8), CAP / 4);
	CHECK_EQ(dry_extent_balance(&extents, CAP, CAP / 8), CAP / 2 - CAP / 8);
	CHECK_EQ(extents.cached_bytes, CAP / 8);
	dry_extents_fini(&extents);
}

/* Where as many wait as can, one of them makes room for the next as a whole: not page by page. */
static void full(void)
{
	size_t releases = 0;
	const struct dry_page_source source = port_source(&releases);
	size_t page = dry_port_page_size(), pages = ((size_t)4 << 20) / page, dirty, i;
	char *at[DRY_EXTENT_CACHED + 8];

	dry_extents_init(&extents, sizeof(at) / sizeof(at[0]) * pages * page, 1, &source);
	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		at[i] = take(pages, &dirty);
	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		give(at[i]);
	CHECK_EQ(extents.cached, DRY_EXTENT_CACHED);
	CHECK_EQ(releases, 8);
	dry_extents_fini(&extents);
}

static void *worker(void *arg)
{
	struct rng rng = { (uint64_t)(uintptr_t)arg };
	struct block held[16] = { { NULL, 0, 0, 0 } };
	size_t steps = test_scaled(3000), i;

	for (i = 0; i < steps; i++) {
		struct block *block = &held[rng_below(&rng, 16)];

		if (block->at == NULL)
			make(block, &rng);
		else if (rng_below(&rng, 3) == 0)
			change(block, &rng);
		else
			drop(block);
		if (rng_below(&rng, 50) == 0)
			dry_extent_decay(&extents, 1);
	}
	for (i = 0; i < 16; i++)
		if (held[i].at != NULL)
			drop(&held[i]);
	return NULL;
}

static void threads(struct rng *rng)
{
	pthread_t thread[THREADS];
	size_t i;

	dry_extents_init(&extents, CAP, 1, NULL);
	for (i = 0; i < THREADS; i++)
		CHECK(pthread_create(&thread[i], NULL, worker, (void *)(uintptr_t)rng_next(rng)) == 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	CHECK(dry_extents_check(&extents) == NULL);
	CHECK_EQ(extents.live, 0);
	dry_extents_fini(&extents);
}

/* One that was going to be looked at, and grew elsewhere: what is at its place says nothing of it. */
static void moved(void)
{
	size_t unit = DRY_DENSE_UNIT, page = dry_port_page_size(), dirty;
	char *looked_at, *behind, *at;
	void *wall;

	dry_extents_init(&extents, SIZE_MAX, 1, NULL);
	extents.usual.filled = 1;
	looked_at = dry_extent_alloc(&extents, 4 * unit, 1, 0, &dirty);
	CHECK(looked_at != NULL && extents.usual.extent == (uintptr_t)looked_at && extents.usual.addr != 0);
	behind = looked_at + dry_extent_size(&extents, looked_at);
	wall = mmap(behind, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	at = dry_extent_resize(&extents, looked_at, 12 * unit, &dirty);
	CHECK(at != looked_at);
	CHECK(dry_extent_alloc(&extents, 4 * unit, 1, 0, &dirty) != NULL);
	CHECK(at == NULL || extents.usual.filled == 1); /* NULL: the port moves nothing */
	if (wall != MAP_FAILED)
		munmap(wall, page);
	dry_extents_fini(&extents);
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };

	reuse();
	fit();
	in_place();
	decay();
	full();
	moved();
	against_model(&rng);
	threads(&rng);
	return 0;
}
