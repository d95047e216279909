/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Random sequences of calls against a model: the set of live blocks, ordered by address,
 * with size, owner and content. After each call the new block must overlap none, be aligned,
 * and lie in the heap's memory where that was handed in; after every few steps all equations
 * of the heap are verified and each cache's count is compared with the model's. One
 * thread, so a seed replays a run exactly: test_model SEED.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "../support/exercise.h"

#define CACHES 12
#define LIVE   3000

struct live {
	uintptr_t at;
	size_t size;
	int cache; /* index, or -1: general */
};

struct model {
	dry_heap *heap;
	dry_cache *caches[CACHES];
	size_t sizes[CACHES], counts[CACHES];
	struct live live[LIVE]; /* ordered by address */
	size_t n;
	char *low, *high; /* the heap's memory, if handed in */
	struct rng rng;
	size_t refused;
};

/* Index of the first live block at or above the address. */
static size_t find(const struct model *model, uintptr_t at)
{
	size_t low = 0, high = model->n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (model->live[mid].at < at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void insert(struct model *model, void *block, size_t size, int cache)
{
	uintptr_t at = (uintptr_t)block;
	size_t i = find(model, at), room = size ? size : 1;

	CHECK(model->n < LIVE);
	CHECK(i == model->n || model->live[i].at >= at + room);
	CHECK(i == 0 || model->live[i - 1].at + (model->live[i - 1].size ? model->live[i - 1].size : 1) <= at);
	if (model->low)
		CHECK((char *)block >= model->low && (char *)block + size <= model->high);
	for (size_t to = model->n; to > i; to--) /* memmove() of the address sanitizer goes byte by byte */
		model->live[to] = model->live[to - 1];
	model->live[i] = (struct live){ at, size, cache };
	model->n++;
	if (cache >= 0)
		model->counts[cache]++;
	pattern_fill(block, size);
}

static struct live take_at(struct model *model, size_t i)
{
	struct live live = model->live[i];

	CHECK(pattern_holds((void *)live.at, live.size));
	model->n--;
	for (size_t to = i; to < model->n; to++)
		model->live[to] = model->live[to + 1];
	if (live.cache >= 0)
		model->counts[live.cache]--;
	return live;
}

static bool granted(struct model *model, const void *block)
{
	if (block)
		return true;
	CHECK_EQ(errno, ENOMEM);
	model->refused++;
	return false;
}

static void step_cache_alloc(struct model *model)
{
	int c = (int)rng_below(&model->rng, CACHES);
	void *bulk[64], *object;
	size_t n = rng_below(&model->rng, 64) + 1;

	if (!model->caches[c])
		return;
	errno = 0;
	if (rng_below(&model->rng, 8) == 0 && model->n + n <= LIVE) {
		size_t got = dry_cache_alloc_bulk(model->caches[c], n, bulk);

		CHECK(got == n || (got == 0 && errno == ENOMEM));
		for (size_t i = 0; i < got; i++)
			insert(model, bulk[i], model->sizes[c], c);
		return;
	}
	if (rng_below(&model->rng, 3) == 0) {
		object = dry_cache_zalloc(model->caches[c]);
		if (object)
			CHECK(all_bytes(object, model->sizes[c], 0));
	} else {
		object = dry_cache_alloc(model->caches[c]);
	}
	if (granted(model, object))
		insert(model, object, model->sizes[c], c);
}

static void step_general_alloc(struct model *model)
{
	size_t size = rng_size(&model->rng, rng_below(&model->rng, 40) ? 13 : 21);
	size_t align = (size_t)1 << rng_below(&model->rng, 17);
	void *block;

	errno = 0;
	switch (rng_below(&model->rng, 4)) {
	case 0:
		block = dry_zalloc(model->heap, size);
		if (block)
			CHECK(all_bytes(block, size, 0));
		break;
	case 1:
		block = dry_alloc_aligned(model->heap, align, size);
		CHECK_EQ((uintptr_t)block % align, 0);
		break;
	default:
		block = dry_alloc(model->heap, size);
	}
	if (!granted(model, block))
		return;
	CHECK(dry_usable_size(model->heap, block) >= size);
	insert(model, block, size, -1);
}

static void step_free(struct model *model)
{
	struct live live;

	if (!model->n)
		return;
	live = take_at(model, rng_below(&model->rng, model->n));
	if (live.cache >= 0)
		dry_cache_free(model->caches[live.cache], (void *)live.at);
	else
		dry_free(model->heap, (void *)live.at);
}

/* All blocks of one cache, in one bulk call, a random order. */
static void step_free_bulk(struct model *model)
{
	static void *bulk[LIVE];
	int c = (int)rng_below(&model->rng, CACHES);
	size_t n = 0;

	for (size_t i = model->n; i-- > 0;)
		if (model->live[i].cache == c && rng_below(&model->rng, 8))
			bulk[n++] = (void *)take_at(model, i).at;
	rng_shuffle(&model->rng, bulk, n);
	if (n)
		dry_cache_free_bulk(model->caches[c], n, bulk);
}

static void step_realloc(struct model *model)
{
	size_t i, size = rng_size(&model->rng, rng_below(&model->rng, 40) ? 14 : 22), common, old;
	struct live live;
	char *block, *copy;

	if (!model->n || model->live[i = rng_below(&model->rng, model->n)].cache >= 0)
		return;
	live = take_at(model, i);
	old = live.size;
	common = old < size ? old : size;
	CHECK(copy = malloc(common + 1));
	memcpy(copy, (void *)live.at, common);
	errno = 0;
	block = dry_realloc(model->heap, (void *)live.at, size);
	if (granted(model, block)) {
		CHECK(!memcmp(block, copy, common));
		insert(model, block, size, -1);
	} else {
		CHECK(pattern_holds((void *)live.at, old));
		insert(model, (void *)live.at, old, -1);
	}
	free(copy);
}

static void step_create_destroy(struct model *model)
{
	static const unsigned flags[] = { 0, DRY_CACHE_NO_MERGE, DRY_CACHE_POISON, DRY_CACHE_HWALIGN,
					  DRY_CACHE_PUBLISHED, DRY_CACHE_CHAIN, DRY_CACHE_OFF_SLAB,
					  DRY_CACHE_DEBUG & ~DRY_CACHE_TRACE };
	int c = (int)rng_below(&model->rng, CACHES);
	struct dry_cache_attr attr = { .name = "model" };

	if (model->caches[c]) {
		if (model->counts[c] || rng_below(&model->rng, 4))
			return;
		CHECK_EQ(dry_cache_destroy(model->caches[c]), 0);
		model->caches[c] = NULL;
		return;
	}
	attr.size = model->sizes[c] = rng_size(&model->rng, 13);
	attr.align = rng_below(&model->rng, 3) ? 0 : (size_t)8 << rng_below(&model->rng, 6);
	attr.flags = flags[rng_below(&model->rng, 8)] | DRY_CACHE_NO_MERGE;
	attr.limit = rng_below(&model->rng, 2) ? (unsigned)rng_below(&model->rng, 50) + 1 : 0;
	errno = 0;
	model->caches[c] = dry_cache_create(model->heap, &attr);
	CHECK(model->caches[c] || errno == ENOMEM || (errno == EINVAL && attr.flags & DRY_CACHE_TYPE_MASK));
}

static void step_housekeeping(struct model *model)
{
	int c = (int)rng_below(&model->rng, CACHES);
	int result;

	switch (rng_below(&model->rng, 4)) {
	case 0:
		dry_heap_reap(model->heap);
		break;
	case 1:
		dry_heap_trim(model->heap);
		break;
	case 2:
		if (model->caches[c]) {
			result = dry_cache_prefill(model->caches[c], rng_below(&model->rng, 200));
			CHECK(result == 0 || result == -ENOMEM);
		}
		break;
	default:
		if (model->caches[c])
			dry_cache_shrink(model->caches[c]);
	}
}

static void compare(struct model *model)
{
	CHECK_EQ(dry_heap_check(model->heap), 0);
	for (int c = 0; c < CACHES; c++)
		if (model->caches[c])
			CHECK_EQ(stats_of(model->caches[c]).active_objects, model->counts[c]);
	for (size_t i = 0; i < model->n; i++)
		CHECK(pattern_holds((void *)model->live[i].at, model->live[i].size));
}

static void run(struct model *model, size_t steps)
{
	/* phases that grow and phases that shrink the set, so that both ends are met */
	for (size_t step = 0; step < steps; step++) {
		size_t dice = rng_below(&model->rng, 100), grow = step / 2000 % 3 == 2 ? 20 : 45;

		if (dice < grow && model->n < LIVE - 64)
			dice & 1 ? step_cache_alloc(model) : step_general_alloc(model);
		else if (dice < 85)
			step_free(model);
		else if (dice < 94)
			step_realloc(model);
		else if (dice < 96)
			step_create_destroy(model);
		else if (dice < 97)
			step_free_bulk(model);
		else if (dice < 98)
			step_housekeeping(model);
		if (step % 500 == 499)
			compare(model);
	}
	while (model->n)
		step_free(model);
	compare(model);
}

int main(int argc, char **argv)
{
	static struct model model;
	static const size_t pages[] = { 4096, 16384, 65536 };
	size_t room = 16 << 20, refused = 0;
	uint64_t seed = test_seed(argc, argv);
	struct rng rng = { seed };
	char *memory = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	for (size_t round = 0; round < test_scaled(24); round++) {
		struct dry_heap_attr attr = { .name = "model", .nodes = (unsigned)(round % 4) + 1 };

		memset(&model, 0, sizeof(model));
		model.rng.state = rng_next(&rng);
		if (pages[round % 3] >= (size_t)sysconf(_SC_PAGESIZE))
			attr.page_size = pages[round % 3];
		if (round % 8 == 3)
			attr.limit = (2 + rng_below(&rng, 8)) << 20;
		if (round % 8 == 6) {
			attr.memory = model.low = memory;
			attr.memory_size = (4 << 20) + rng_below(&rng, room - (4 << 20));
			model.high = memory + attr.memory_size;
		}
		model.heap = dry_heap_create(&attr);
		CHECK(model.heap);
		run(&model, 12000);
		CHECK_EQ(dry_heap_destroy(model.heap), 0);
		if (attr.limit || attr.memory)
			refused += model.refused;
		else
			CHECK_EQ(model.refused, 0);
	}
	printf("%zu requests refused by a limit\n", refused);
	return 0;
}
