/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The arena against a model: an array that says for each page which run holds it. After each
 * step the arena verifies its own equations, and every page of a run carries a stamp.
 * DRY_TEST_NO_NORSEQ: pages know nothing of slots.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "check.h"
#include "page/page.h"
#include "port_source.h"
#include "random.h"

#define MAX_RUNS  512
#define MAX_PAGES 16384

struct run {
	struct dry_page *page;
	uint32_t index, count;
	uint64_t stamp;
	uint16_t map;
};

struct model {
	struct dry_arena arena;
	struct rng rng;
	size_t runs, used;
	struct run run[MAX_RUNS];
	uint16_t owner[MAX_PAGES]; /* 0: free; else number of the run + 1 */
};

static struct model model;

/* The nodes that chunks were placed on. */
static unsigned placed[8];

void __wrap_dry_port_place(void *addr, size_t size, unsigned node);
void __wrap_dry_port_place(void *addr, size_t size, unsigned node)
{
	/* malloc's own chunks are placed, too */
	if ((uintptr_t)addr - model.arena.base >= model.arena.granules << DRY_GRANULE_SHIFT)
		return;
	CHECK(size == DRY_CHUNK_SIZE && (uintptr_t)addr % DRY_CHUNK_SIZE == 0 && node < model.arena.nodes);
	placed[((uintptr_t)addr - model.arena.base) / DRY_CHUNK_SIZE] = node;
}

static void verify(struct model *m)
{
	const char *problem = dry_arena_check(&m->arena);

	if (problem != NULL)
		fprintf(stderr, "%s\n", problem);
	CHECK(problem == NULL);
	CHECK_EQ(m->arena.used, m->used);
}

static uint64_t *page_word(struct model *m, uint32_t index, size_t word)
{
	return (uint64_t *)dry_arena_address(&m->arena, index) + word;
}

static void stamp(struct model *m, const struct run *run)
{
	size_t last = ((size_t)1 << m->arena.page_shift) / 8 - 1;
	uint32_t i;

	for (i = run->index; i < run->index + run->count; i++) {
		*page_word(m, i, 0) = run->stamp + i;
		*page_word(m, i, last) = ~(run->stamp + i);
	}
}

static void verify_stamp(struct model *m, const struct run *run)
{
	size_t last = ((size_t)1 << m->arena.page_shift) / 8 - 1;
	uint32_t i;

	for (i = run->index; i < run->index + run->count; i++) {
		CHECK(*page_word(m, i, 0) == run->stamp + i);
		CHECK(*page_word(m, i, last) == ~(run->stamp + i));
	}
}

/* A run not marked dirty reads as zero. Some words of each page are looked at. */
static void verify_zero(struct model *m, const struct run *run)
{
	size_t words = ((size_t)1 << m->arena.page_shift) / 8;
	uint32_t i;

	for (i = run->index; i < run->index + run->count; i++) {
		CHECK(*page_word(m, i, 0) == 0);
		CHECK(*page_word(m, i, words - 1) == 0);
		CHECK(*page_word(m, i, rng_below(&m->rng, words)) == 0);
	}
}

static bool model_free(const struct model *m, uint32_t index, uint32_t count)
{
	while (count != 0 && index + count <= m->arena.pages && m->owner[index + count - 1] == 0)
		count--;
	return count == 0;
}

/* Is there an aligned gap for a run, by the model? Only runs of more than a chunk cross a chunk boundary. */
static bool model_has_room(const struct model *m, uint32_t count, uint32_t align)
{
	uint32_t block = UINT32_C(1) << dry_log2_ceil(count > align ? count : align), chunk = UINT32_C(1) << m->arena.max_order;
	uint32_t unit = block < chunk ? block : chunk, start;

	for (start = 0; start < m->arena.pages; start++)
		if (((start + m->arena.skew) & (unit - 1)) == 0 && model_free(m, start, block <= chunk ? block : count) &&
		    (block <= chunk || ((uintptr_t)dry_arena_address(&m->arena, start) >> m->arena.page_shift) % align == 0))
			return true;
	return false;
}

static uint32_t random_count(struct model *m)
{
	uint32_t chunk = UINT32_C(1) << m->arena.max_order;

	switch (rng_below(&m->rng, 40)) {
	case 0:
		return (uint32_t)(1 + rng_below(&m->rng, chunk));
	case 1:
		return (uint32_t)(chunk + rng_below(&m->rng, 3 * chunk));
	default:
		return (uint32_t)(1 + rng_below(&m->rng, 1 + rng_below(&m->rng, 40)));
	}
}

static void step_alloc(struct model *m)
{
	uint32_t count = random_count(m), align = 1, i;
	struct run *run = &m->run[m->runs];

	if (m->runs == MAX_RUNS)
		return;
	if (rng_below(&m->rng, 3) == 0)
		align = UINT32_C(1) << rng_below(&m->rng, m->arena.max_order + (rng_below(&m->rng, 8) == 0 ? 3u : 1u));
	unsigned node = (unsigned)rng_below(&m->rng, m->arena.nodes);
	run->page = dry_arena_alloc(&m->arena, count, align, node);
	if (run->page == NULL) {
		CHECK(m->used + count > m->arena.limit_pages || !model_has_room(m, count, align));
		return;
	}
	run->index = dry_arena_index_of(&m->arena, run->page);
	run->count = count;
	run->stamp = rng_next(&m->rng);
	run->map = 0;
	CHECK_EQ(run->page->kind, DRY_PAGE_RUN);
	if (run->page->node != node && (count > align ? count : align) <= UINT32_C(1) << m->arena.max_order) /* out of chunks */
		CHECK(m->arena.committed == m->arena.pages && m->arena.retired == 0);
	if (m->arena.nodes > 1)
		CHECK_EQ(run->page->node, placed[run->index >> m->arena.max_order]);
	CHECK_EQ(run->page->count, count);
	CHECK(((uintptr_t)dry_arena_address(&m->arena, run->index) & (((uintptr_t)align << m->arena.page_shift) - 1)) ==
	      0);
	if (dry_is_pow2(count) && count <= UINT32_C(1) << m->arena.max_order)
		CHECK(((run->index + m->arena.skew) & (count - 1)) == 0);
	for (i = run->index; i < run->index + count; i++) {
		CHECK(i < m->arena.pages && m->owner[i] == 0);
		m->owner[i] = (uint16_t)(m->runs + 1);
	}
	if (!(run->page->flags & DRY_PAGE_DIRTY))
		verify_zero(m, run);
	stamp(m, run);
	m->used += count;
	m->runs++;
	CHECK(m->used <= m->arena.limit_pages);
}

static void model_clear(struct model *m, uint32_t index, uint32_t count)
{
	m->used -= count;
	memset(&m->owner[index], 0, count * sizeof(m->owner[0]));
}

static void step_free(struct model *m, size_t which)
{
	struct run *run = &m->run[which];
	uint32_t i;

	verify_stamp(m, run);
	model_clear(m, run->index, run->count);
	dry_arena_free(&m->arena, run->page);
	*run = m->run[--m->runs];
	if (which < m->runs)
		for (i = run->index; i < run->index + run->count; i++)
			m->owner[i] = (uint16_t)(which + 1);
}

static void step_trim(struct model *m)
{
	struct run *run = &m->run[rng_below(&m->rng, m->runs)];
	uint32_t count = (uint32_t)(1 + rng_below(&m->rng, run->count));

	dry_arena_trim_run(&m->arena, run->page, count);
	model_clear(m, run->index + count, run->count - count);
	run->count = count;
	CHECK_EQ(run->page->count, count);
}

/* It grows if and only if what follows is free, within the limit, and its place allows for the size. */
static void step_extend(struct model *m)
{
	size_t which = rng_below(&m->rng, m->runs);
	struct run *run = &m->run[which];
	uint32_t more = (uint32_t)(1 + rng_below(&m->rng, rng_below(&m->rng, 3) == 0 ? 2000 : 8)), i;
	unsigned order = dry_log2_ceil(run->count + more);
	uint32_t block = UINT32_C(1) << (order < m->arena.max_order ? order : m->arena.max_order);
	bool can = ((run->index + m->arena.skew) & (block - 1)) == 0 && model_free(m, run->index + run->count, more) &&
		   m->used + more <= m->arena.limit_pages;

	dry_arena_set_map(&m->arena, run->page, run->map = 0);
	CHECK_EQ(dry_arena_extend_run(&m->arena, run->page, run->count + more), can);
	if (!can)
		return;
	for (i = run->index + run->count; i < run->index + run->count + more; i++)
		m->owner[i] = (uint16_t)(which + 1);
	run->count += more;
	m->used += more;
	CHECK_EQ(run->page->count, run->count);
	stamp(m, run);
}

static void step_map(struct model *m)
{
	struct run *run = &m->run[rng_below(&m->rng, m->runs)];

	run->map = (uint16_t)rng_below(&m->rng, 65536);
	dry_arena_set_map(&m->arena, run->page, run->map);
}

/* Any address: inside of the arena, just outside, anywhere. */
static void step_look(struct model *m)
{
	size_t bytes = dry_arena_granules(&m->arena) << DRY_GRANULE_SHIFT;
	uintptr_t at = m->arena.base + rng_below(&m->rng, bytes);
	uint32_t index = dry_arena_index(&m->arena, (void *)at);
	struct dry_page *found = dry_arena_run_of(&m->arena, (void *)at);
	uint16_t map = m->arena.map[(at - m->arena.base) >> DRY_GRANULE_SHIFT];

	CHECK(found == (m->owner[index] == 0 ? NULL : m->run[m->owner[index] - 1].page));
	CHECK_EQ(map, m->owner[index] == 0 ? 0 : m->run[m->owner[index] - 1].map);
	CHECK(dry_arena_run_of(&m->arena, (void *)(m->arena.base - 1 - rng_below(&m->rng, bytes))) == NULL);
	CHECK(dry_arena_run_of(&m->arena, (void *)(m->arena.base + bytes + rng_below(&m->rng, bytes))) == NULL);
	CHECK(dry_arena_run_of(&m->arena, NULL) == NULL);
}

/* Purging the metadata of one chunk leaves that of its neighbours alone. */
static void verify_maps(struct model *m)
{
	unsigned shift = m->arena.page_shift - DRY_GRANULE_SHIFT;
	size_t i;

	for (i = 0; i < m->runs; i++) {
		const struct run *run = &m->run[i];

		CHECK_EQ(m->arena.map[(size_t)run->index << shift], run->map);
		CHECK_EQ(m->arena.map[((size_t)(run->index + run->count) << shift) - 1], run->map);
	}
}

static void step_purge(struct model *m)
{
	unsigned age = (unsigned)rng_below(&m->rng, 4);
	size_t dirty = m->arena.free_dirty, done;

	if (rng_below(&m->rng, 3) != 0) {
		done = dry_arena_decay(&m->arena, age);
		if (age == 0 && m->arena.owns_memory)
			CHECK_EQ(m->arena.free_dirty, 0);
	} else {
		done = dry_arena_purge_all(&m->arena);
		if (m->arena.owns_memory)
			CHECK_EQ(m->arena.free_dirty, 0);
	}
	CHECK_EQ(done, m->arena.owns_memory ? dirty - m->arena.free_dirty : 0);
	verify_maps(m);
}

static void drain(struct model *m)
{
	while (m->runs != 0)
		step_free(m, rng_below(&m->rng, m->runs));
	verify(m);
	dry_arena_purge_all(&m->arena);
	verify(m);
	if (m->arena.owns_memory) {
		CHECK_EQ(m->arena.free_dirty, 0);
		CHECK_EQ((size_t)m->arena.retired << m->arena.max_order, m->arena.committed);
	}
}

/* Every page can be had, one at a time, and not one more. */
static void fill(struct model *m)
{
	size_t want = m->arena.limit_pages < m->arena.pages ? m->arena.limit_pages : m->arena.pages, got = 0;
	struct dry_page **pages = malloc(want * sizeof(struct dry_page *)), *page;

	while ((page = dry_arena_alloc(&m->arena, 1, 1, 0)) != NULL) {
		CHECK(got < want);
		pages[got++] = page;
	}
	CHECK_EQ(got, want);
	rng_shuffle(&m->rng, (void **)pages, got);
	while (got > 0)
		dry_arena_free(&m->arena, pages[--got]);
	verify(m);
	free(pages);
}

static void exercise(struct model *m, size_t steps)
{
	size_t i, bias = 50;

	for (i = 0; i < steps; i++) {
		size_t what = rng_below(&m->rng, 100);

		if (i % 300 == 0)
			bias = 20 + rng_below(&m->rng, 50);
		if (what < bias || m->runs == 0)
			step_alloc(m);
		else if (what < 85)
			step_free(m, rng_below(&m->rng, m->runs));
		else if (what < 87)
			step_trim(m);
		else if (what < 89)
			step_extend(m);
		else if (what < 92)
			step_map(m);
		else if (what < 98)
			step_look(m);
		else
			step_purge(m);
		verify(m);
	}
	drain(m);
	fill(m);
	drain(m);
}

static void run_reserved(struct model *m, size_t page_size, size_t reserve, size_t limit, unsigned nodes, size_t steps)
{
	struct dry_arena_attr attr = { .reserve = reserve, .page_size = page_size, .limit = limit, .nodes = nodes };

	CHECK_EQ(dry_arena_init(&m->arena, &attr), 0);
	CHECK_EQ(m->arena.base % DRY_CHUNK_SIZE, 0);
	CHECK_EQ((size_t)m->arena.pages << m->arena.page_shift, reserve);
	exercise(m, steps);
	dry_arena_fini(&m->arena);
}

static void run_memory(struct model *m, size_t page_size, size_t size, size_t steps)
{
	size_t slack = 1 << 16, offset = rng_below(&m->rng, slack), i;
	unsigned char *block = malloc(size + 2 * slack);
	struct dry_arena_attr attr = { .memory = block + offset, .memory_size = size, .page_size = page_size };

	memset(block, 0xa5, size + 2 * slack);
	CHECK_EQ(dry_arena_init(&m->arena, &attr), 0);
	CHECK(m->arena.base >= (uintptr_t)block + offset);
	CHECK(m->arena.base + ((size_t)m->arena.pages << m->arena.page_shift) <= (uintptr_t)block + offset + size);
	/* Metadata is 1.6 % at most; the rest may be lost to alignment at both ends. */
	CHECK(((size_t)m->arena.pages << m->arena.page_shift) + size / 60 + 2 * page_size + 128 >= size);
	exercise(m, steps);
	dry_arena_fini(&m->arena);
	for (i = 0; i < offset; i++)
		CHECK(block[i] == 0xa5);
	for (i = offset + size; i < size + 2 * slack; i++)
		CHECK(block[i] == 0xa5);
	free(block);
}

/* Each block waits for its own time. */
static void decay_by_age(void)
{
	struct dry_arena_attr attr = { .reserve = (size_t)16 << 20 };
	struct dry_arena *arena = &model.arena;
	struct dry_page *first, *second, *wall;
	size_t dirty;

	CHECK_EQ(dry_arena_init(arena, &attr), 0);
	first = dry_arena_alloc(arena, 16, 1, 0);
	wall = dry_arena_alloc(arena, 16, 1, 0);
	second = dry_arena_alloc(arena, 32, 1, 0);
	CHECK(first != NULL && wall != NULL && second != NULL);
	dry_arena_free(arena, first);
	CHECK_EQ(dry_arena_decay(arena, 3), 0);
	CHECK_EQ(arena->free_dirty, 16);
	dry_arena_trim_run(arena, second, 16); /* these sixteen cannot merge with the first */
	dry_arena_trim_run(arena, wall, 15);
	dirty = arena->free_dirty;
	CHECK(dirty > 16);
	CHECK_EQ(dry_arena_decay(arena, 3), 0);
	CHECK_EQ(dry_arena_decay(arena, 3), 16);
	CHECK_EQ(arena->free_dirty, dirty - 16);
	CHECK_EQ(dry_arena_decay(arena, 3), dirty - 16);
	CHECK_EQ(arena->free_dirty, 0);
	CHECK(dry_arena_check(arena) == NULL);
	dry_arena_fini(arena);
}

/* A chunk next to one in use gives its own metadata back, and nothing of its neighbour's. */
static void neighbours_keep_maps(void)
{
	struct dry_arena_attr attr = { .reserve = (size_t)16 << 20 };
	struct dry_arena *arena = &model.arena;
	struct dry_page *chunk[4];
	unsigned keep, i;

	for (keep = 0; keep < 4; keep++) {
		CHECK_EQ(dry_arena_init(arena, &attr), 0);
		for (i = 0; i < 4; i++) {
			chunk[i] = dry_arena_alloc(arena, UINT32_C(1) << arena->max_order, 1, 0);
			CHECK(chunk[i] != NULL);
			dry_arena_set_map(arena, chunk[i], 7);
		}
		for (i = 0; i < 4; i++)
			if (i != keep)
				dry_arena_free(arena, chunk[i]);
		dry_arena_purge_all(arena);
		CHECK_EQ(arena->retired, 3);
		for (i = 0; i < arena->granules; i++)
			CHECK_EQ(arena->map[i], i / (arena->granules / 4) == keep ? 7 : 0);
		CHECK_EQ(chunk[keep]->count, UINT32_C(1) << arena->max_order);
		CHECK(dry_arena_check(arena) == NULL);
		dry_arena_fini(arena);
	}
}

/* What an arena gives up belongs to others from then on, also when the arena goes. */
static void give_up(void)
{
	size_t releases = 0;
	const struct dry_page_source source = port_source(&releases);
	struct dry_arena_attr attr = { .reserve = (size_t)16 << 20, .source = &source };
	struct dry_arena *arena = &model.arena;
	uint32_t chunk;
	unsigned char *end, there;

	CHECK_EQ(dry_arena_init(arena, &attr), 0);
	CHECK_EQ(arena->reserved, arena->pages); /* a source is asked once; windows: test_page_window.c */
	chunk = UINT32_C(1) << arena->max_order;
	CHECK(dry_arena_alloc(arena, chunk, 1, 0) != NULL);
	CHECK(!dry_arena_give_up(arena, (size_t)13 << 20));
	CHECK(!dry_arena_give_up(arena, SIZE_MAX));
	end = dry_arena_address(arena, 4 * chunk);
	CHECK(dry_arena_give_up(arena, ((size_t)4 << 20) + 1));
	CHECK(mincore(end - DRY_CHUNK_SIZE, 1, &there) != 0 && mincore(end - 2 * DRY_CHUNK_SIZE, 1, &there) != 0);
	CHECK(mincore(end - 3 * DRY_CHUNK_SIZE, 1, &there) == 0);
	CHECK(mmap(end - DRY_CHUNK_SIZE, DRY_CHUNK_SIZE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == end - DRY_CHUNK_SIZE);
	end[-1] = 1;
	CHECK(dry_arena_run_of(arena, end - 1) == NULL);
	CHECK(dry_arena_alloc(arena, chunk, 1, 0) != NULL);
	CHECK(dry_arena_alloc(arena, 1, 1, 0) == NULL);
	CHECK(!dry_arena_give_up(arena, 1));
	CHECK(dry_arena_check(arena) == NULL);
	dry_arena_fini(arena);
	CHECK_EQ(end[-1], 1);
	munmap(end - DRY_CHUNK_SIZE, DRY_CHUNK_SIZE);
}

static void bad_attributes(void)
{
	static unsigned char small[8192];
	struct dry_arena arena;

	CHECK(dry_arena_init(&arena, &(struct dry_arena_attr){ .reserve = 1 << 26, .page_size = 8192 }) == -EINVAL);
	CHECK(dry_arena_init(&arena, &(struct dry_arena_attr){ .reserve = 1 << 26, .page_size = 12288 }) == -EINVAL);
	CHECK(dry_arena_init(&arena, &(struct dry_arena_attr){ .memory = small, .memory_size = 64 }) == -EINVAL);
	CHECK(dry_arena_init(&arena, &(struct dry_arena_attr){ .memory = small, .memory_size = 4096 }) == -EINVAL);
	CHECK(dry_arena_init(&arena, &(struct dry_arena_attr){ .memory = small, .memory_size = SIZE_MAX }) == -EINVAL);
	CHECK(dry_arena_init(&arena, &(struct dry_arena_attr){ .reserve = 4096 }) == -ENOMEM);
}

int main(int argc, char **argv)
{
	static const size_t page_sizes[] = { 4096, 16384, 65536 };
	size_t i;

	model.rng.state = test_seed(argc, argv);
	bad_attributes();
	decay_by_age();
	neighbours_keep_maps();
	give_up();
	for (i = 0; i < 3; i++) {
		size_t page = page_sizes[i];

		if (page < dry_port_page_size())
			continue;
		run_reserved(&model, page, (size_t)24 << 20, 0, 1, test_scaled(3000));
		run_reserved(&model, page, (size_t)24 << 20, 0, 2 + (unsigned)rng_below(&model.rng, 3), test_scaled(3000));
		run_reserved(&model, page, (size_t)16 << 20, (size_t)5 << 20, 1 + (unsigned)(i & 1), test_scaled(2000));
		run_memory(&model, page, ((size_t)9 << 20) + 12345, test_scaled(2000));
		run_memory(&model, page, (size_t)256 << 10, test_scaled(1000));
	}
	return 0;
}
