/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Random operations on core against a model: which objects of which cache are with the program, and what is in them. After
 * each step the equations of every cache hold, and no object is lost on its way: those of slabs less the free ones, less
 * those in arrays and depots, are the model's. One thread, which moves between slots and nodes at random; a seed replays
 * a run: model SEED, or DRY_TEST_SEED.
 */
#include "plain.h"

#define CACHES 10
#define LIVE   600
#define STEPS  25000
#define NODES  3
#define SLOTS  4

struct model {
	struct dry_cache *cache;
	bool constructed, is_root;
	size_t size;
	void *live[LIVE];
	size_t count;
};

static struct rng rng;
static struct dry_caches *caches;
static struct model models[CACHES];
static struct dry_grace_head *waiting;
static size_t made, refused, given, singles, most;

static bool chance(unsigned of)
{
	return rng_below(&rng, of) == 0;
}

static void construct(void *object, void *arg)
{
	made++;
	pattern_fill_key(object, *(const size_t *)arg, pattern_key(object, 1));
}

static void destruct(void *object, void *arg)
{
	CHECK(pattern_holds_key(object, *(const size_t *)arg, pattern_key(object, 1)));
	made--;
}

static void call(void *arg, struct dry_grace_head *head, void (*func)(struct dry_grace_head *head))
{
	(void)arg;
	head->func = func;
	head->opaque[0] = waiting;
	waiting = head;
}

static void barrier(void *arg)
{
	(void)arg;
	while (waiting != NULL) {
		struct dry_grace_head *head = waiting;
		waiting = head->opaque[0];
		head->func(head);
	}
}

static const struct dry_grace grace = { .call = call, .barrier = barrier };

static bool in_pieces(void)
{
	return chance(3);
}

static void move(unsigned *slot)
{
	if (chance(16))
		*slot = (unsigned)rng_below(&rng, SLOTS);
	if (chance(32))
		caches->backing.home = (unsigned)rng_below(&rng, NODES);
}

/* ---- what the model knows --------------------------------------------------------------------- */

static struct model *of_root(const struct dry_cache *root, struct model *after)
{
	for (struct model *model = after; model < models + CACHES; model++)
		if (model->cache != NULL && model->cache->root == root)
			return model;
	return NULL;
}

static void check_all(void)
{
	for (const struct dry_cache *cache = caches->first; cache != NULL; cache = cache->next) {
		size_t live = 0;
		for (struct model *model = models; (model = of_root(cache, model)) != NULL; model++)
			live += model->count;
		if (cache->root == cache)
			plain_holds(cache->root, live);
	}
}

static void gained(struct model *model, void *object)
{
	if (object == NULL) {
		refused++;
		return;
	}
	CHECK(((uintptr_t)object & (model->cache->root->align - 1)) == 0);
	singles += dry_slab_of(model->cache->root, object)->single;
	if (model->constructed)
		CHECK(pattern_holds_key(object, model->size, pattern_key(object, 1)));
	pattern_fill(object, model->size);
	model->live[model->count++] = object;
	given++;
	most = model->count > most ? model->count : most;
}

/* The last one, as it has to be freed. */
static void *lost(struct model *model)
{
	size_t i = rng_below(&rng, model->count);
	void *object = model->live[i];

	model->live[i] = model->live[--model->count];
	CHECK(pattern_holds(object, model->size));
	if (model->constructed)
		pattern_fill_key(object, model->size, pattern_key(object, 1));
	return object;
}

/* ---- steps ---------------------------------------------------------------------------------------- */

static void step_make(struct model *model)
{
	static const unsigned flags[] = { 0, 0, 0, DRY_CACHE_HWALIGN, DRY_CACHE_NORMAL, DRY_CACHE_OFF_SLAB, DRY_CACHE_BITMAP,
					  DRY_CACHE_CHAIN, DRY_CACHE_PUBLISHED, DRY_CACHE_PUBLISHED_2015, DRY_CACHE_NO_ARRAYS,
					  DRY_CACHE_ATTACH_FIRST, DRY_CACHE_TYPESAFE_BY_RCU, DRY_CACHE_CHECKS };
	struct dry_cache_attr attr = { .name = "model", .flags = flags[rng_below(&rng, sizeof(flags) / sizeof(flags[0]))] };
	bool counted = chance(4);
	int error;

	model->size = attr.size = chance(3) ? 32 * (1 + rng_below(&rng, 4)) : rng_size(&rng, 12) + 7;
	if (chance(4))
		attr.align = (size_t)8 << rng_below(&rng, 6);
	if (chance(3))
		attr.limit = 1 + (unsigned)rng_below(&rng, chance(4) ? 250 : 20);
	model->constructed = chance(3) && (attr.flags & DRY_CACHE_TYPE_MASK) != DRY_CACHE_CHAIN;
	if (model->constructed) {
		attr.ctor = construct;
		attr.dtor = destruct;
		attr.arg = &model->size;
	}
	model->count = 0;
	caches->counted = counted;
	attr.flags |= counted ? DRY_CACHE_NO_MERGE : 0;
	model->cache = dry_cache_make(caches, &attr, &error);
}

static void step_destroy(struct model *model)
{
	struct dry_cache *root = model->cache->root;
	bool aliases = model->cache == root && root->alias != NULL, alive = root->orphan && root->alias->alias != NULL;

	/* The cache that others have their objects in under their names may go as a name only. */
	if (aliases && (model->count != 0 || root->orphan))
		return;
	if (model->count != 0 && model->cache != root && (alive || !root->orphan))
		return; /* its objects would be the others' */
	plain_expect();
	int rc = dry_cache_unmake(model->cache);
	CHECK_EQ(plain.reports, 0);
	plain.quiet = false;
	if (model->count != 0 || (rc != 0 && plain.no_fence)) {
		CHECK(rc != 0 && plain.warnings == 1);
		return;
	}
	CHECK_EQ(rc, 0);
	model->cache = NULL;
}

static void step_alloc(struct model *model)
{
	void *objects[64];
	size_t n = 1 + rng_below(&rng, 64), got;

	if (model->count + n > LIVE)
		return;
	if (chance(4)) {
		got = dry_alloc_bulk(model->cache, DRY_GFP_DEFAULT, n, objects);
		CHECK(got == 0 || got == n);
		refused += got == 0;
		for (size_t i = 0; i < got; i++)
			gained(model, objects[i]);
	} else if (chance(4)) {
		int node = (int)rng_below(&rng, NODES);
		gained(model, dry_alloc_slow(model->cache, chance(8) ? PLAIN_GFP_NEVER : DRY_GFP_DEFAULT, node));
	} else {
		while (n-- > 0)
			gained(model, plain_alloc(model->cache));
	}
}

static void step_free(struct model *model)
{
	void *objects[64];
	size_t n = 1 + rng_below(&rng, 64);

	if (n > model->count)
		n = model->count;
	if (chance(4)) {
		for (size_t i = 0; i < n; i++)
			objects[i] = lost(model);
		dry_free_bulk(model->cache, n, objects);
	} else {
		while (n-- > 0)
			plain_free(model->cache, lost(model));
	}
}

static void step_world(void)
{
	switch (rng_below(&rng, 5)) {
	case 0:
		plain.no_fence = chance(8);
		break;
	case 1:
		plain.no_try = chance(4);
		break;
	case 2:
		plain.no_slot = chance(4);
		break;
	case 3: /* memory ends for a while */
		caches->backing.fail_at = caches->backing.calls + 1 + rng_below(&rng, 20);
		caches->backing.fail_all = chance(2);
		if (chance(2))
			caches->backing.fail_at = 0;
		break;
	default:
		barrier(NULL);
	}
}

static void step(void)
{
	struct model *model = &models[rng_below(&rng, CACHES)];
	unsigned what = (unsigned)rng_below(&rng, 100);
	size_t freed;

	if (chance(30)) /* there is memory again */
		caches->backing.fail_at = 0;
	if (what >= 90 && what < 94)
		step_world();
	else if (model->cache == NULL)
		step_make(model);
	else if (what < 40)
		step_alloc(model);
	else if (what < 82)
		step_free(model);
	else if (what < 86)
		dry_caches_reap(caches, (enum dry_reap)rng_below(&rng, 4));
	else if (what < 88)
		dry_cache_empty(model->cache->root, &freed);
	else if (what < 90)
		dry_cache_reserve(model->cache->root, (unsigned)rng_below(&rng, NODES), rng_below(&rng, 100));
	else
		step_destroy(model);
}

/* Names go before the caches that they are names of; objects before all. */
static void finish(void)
{
	plain.no_fence = plain.no_try = plain.no_slot = false;
	for (struct model *model = models; model < models + CACHES; model++)
		while (model->cache != NULL && model->count != 0)
			step_free(model);
	for (unsigned names = 0; names < 2; names++)
		for (struct model *model = models; model < models + CACHES; model++)
			if (model->cache != NULL && (names != 0 || model->cache->root != model->cache)) {
				CHECK_EQ(dry_cache_unmake(model->cache), 0);
				model->cache = NULL;
			}
	barrier(NULL);
	plain.move = NULL;
	CHECK_EQ(made, 0);
	plain_close(caches);
}

int main(int argc, char **argv)
{
	size_t steps = test_scaled(STEPS);

	rng.state = test_seed(argc, argv);
	caches = plain_open(&(struct plain_attr){ .slots = SLOTS, .nodes = NODES, .pages = 1536, .grace = &grace });
	plain.move = move;
	caches->backing.in_pieces = in_pieces;
	for (size_t i = 0; i < steps; i++) {
		step();
		check_all();
	}
	printf("%zu steps, %zu objects, %zu of single pages, at most %zu of a cache, %zu times no memory, %u fences\n", steps,
	       given, singles, most, refused, plain.fences);
	CHECK(steps < 10000 || (refused != 0 && plain.fences != 0 && given > 10 * steps && most > LIVE / 2));
	CHECK(steps < 10000 || singles > given / 100);
	finish();
	return 0;
}
