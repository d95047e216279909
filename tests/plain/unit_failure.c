/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Memory ends: a scenario that meets all of core is run again and again, and of its calls to the backing the k-th is
 * refused, or all from the k-th on. Nothing is lost, nothing leaks, and it works again once there is memory.
 */
#include "plain.h"

#define OBJECTS 300

static size_t made;

static void make(void *object, void *arg)
{
	(void)object, (void)arg;
	made++;
}

static void unmake(void *object, void *arg)
{
	(void)object, (void)arg;
	made--;
}

static unsigned waiting;
static struct dry_grace_head *first_call;

static void call(void *arg, struct dry_grace_head *head, void (*func)(struct dry_grace_head *head))
{
	(void)arg;
	head->func = func;
	head->opaque[0] = first_call;
	first_call = head;
	waiting++;
}

static void barrier(void *arg)
{
	(void)arg;
	while (first_call != NULL) {
		struct dry_grace_head *head = first_call;
		first_call = head->opaque[0];
		head->func(head);
		waiting--;
	}
}

static const struct dry_grace grace = { .call = call, .barrier = barrier };

struct kind {
	struct dry_cache_attr attr;
	bool counted;
};

static const struct kind kinds[] = {
	{ { .name = "plain", .size = 40 }, false },
	{ { .name = "alias", .size = 33 }, false },
	{ { .name = "counted", .size = 200, .limit = 12 }, true },
	{ { .name = "off slab", .size = 600, .limit = 8, .flags = DRY_CACHE_OFF_SLAB, .ctor = make, .dtor = unmake }, false },
	{ { .name = "chain", .size = 72, .flags = DRY_CACHE_CHAIN | DRY_CACHE_ATTACH_FIRST }, false },
	{ { .name = "bare", .size = 3000, .flags = DRY_CACHE_NO_ARRAYS | DRY_CACHE_OBJFREELIST }, false },
	{ { .name = "safe", .size = 128, .limit = 7, .flags = DRY_CACHE_TYPESAFE_BY_RCU | DRY_CACHE_OFF_SLAB,
	    .dtor = unmake, .ctor = make }, false },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Everything that can be asked of a cache. */
static void exercise(struct dry_cache *cache, struct rng *rng)
{
	void *objects[OBJECTS];
	size_t n = 0, bulk, freed;

	dry_node_reserve(cache->root, 1, 100, 0);
	for (unsigned step = 0; step < 3; step++) {
		cache->caches->backing.home = step % 2;
		plain.slot = step;
		for (unsigned i = 0; i < 70; i++)
			n += (objects[n] = plain_alloc(cache)) != NULL;
		bulk = dry_alloc_bulk(cache, DRY_GFP_DEFAULT, 20, objects + n);
		CHECK(bulk == 0 || bulk == 20);
		n += bulk;
		n += (objects[n] = dry_alloc_slow(cache, DRY_GFP_DEFAULT, 1)) != NULL;
		for (size_t i = 0; i < n; i++)
			pattern_fill(objects[i], 33);
		plain_holds(cache, n);
		rng_shuffle(rng, objects, n);
		cache->caches->backing.home = (step + 1) % 2;
		for (size_t keep = n / 3; n > keep;) {
			CHECK(pattern_holds(objects[n - 1], 33));
			plain_free(cache, objects[--n]);
		}
		plain_holds(cache, n);
		dry_caches_reap(cache->caches, step == 1 ? DRY_REAP_ALL : DRY_REAP_IDLE);
	}
	dry_cache_empty(cache->root, &freed);
	plain_holds(cache, n);
	dry_free_bulk(cache, n, objects);
	plain_holds(cache, 0);
}

/* Returns how many calls were refused. */
static size_t scenario(size_t fail_at, bool all)
{
	const struct plain_attr attr = { .slots = 3, .nodes = 2, .pages = 512, .grace = &grace };
	struct dry_caches *caches = plain_open_failing(&attr, fail_at);
	struct dry_cache *cache[KINDS];
	struct rng rng = { fail_at };
	int error = 0;

	if (caches == NULL)
		return 1;
	caches->backing.fail_all = all;
	for (size_t i = 0; i < KINDS; i++) {
		caches->counted = kinds[i].counted;
		cache[i] = dry_cache_make(caches, &kinds[i].attr, &error);
		if (cache[i] != NULL)
			exercise(cache[i], &rng);
	}
	size_t refused = caches->backing.refused;
	/* There is memory again. */
	caches->backing.fail_at = 0;
	for (size_t i = 0; i < KINDS; i++) {
		if (cache[i] == NULL)
			continue;
		exercise(cache[i], &rng);
		CHECK_EQ(dry_cache_unmake(cache[i]), 0);
	}
	CHECK(waiting == 0 && made == 0);
	plain_close(caches);
	return refused;
}

/* ---- what the program can do without ------------------------------------------------------------- */

static struct hoard {
	struct dry_cache *cache;
	void *objects[4096];
	size_t count, asked;
} hoard;

/* Gives back a slab's worth of the hoard. Asks for memory itself meanwhile, which must not ask it again. */
static size_t give(void *arg, size_t bytes)
{
	static bool inside;
	size_t given = 0;
	void *object;

	CHECK(arg == &hoard && bytes >= 4096 && !inside);
	inside = true;
	for (unsigned rank = 0; rank < DRY_RANK_COUNT; rank++)
		CHECK_EQ(plain.held[rank], 0);
	hoard.asked++;
	object = plain_alloc(hoard.cache);
	if (object != NULL)
		plain_free(hoard.cache, object);
	for (; given < bytes && hoard.count != 0; given += hoard.cache->size)
		plain_free(hoard.cache, hoard.objects[--hoard.count]);
	inside = false;
	return given;
}

static void test_reclaim(void)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ .pages = 64, .max_order = 4 });
	const struct dry_cache_attr attr = { .name = "hoard", .size = 512, .reclaim = give, .arg = &hoard };
	struct dry_cache *other = plain_cache(caches, "other", 2000, DRY_CACHE_NO_ARRAYS);
	void *object;

	hoard.cache = plain_make(caches, &attr, false);
	/* All that there is, and a NULL that was not given but for the callback's word. */
	while ((object = dry_alloc_slow(hoard.cache, DRY_GFP_DEFAULT, 0)) != NULL && hoard.asked == 0) {
		CHECK(hoard.count < 4096);
		hoard.objects[hoard.count++] = object;
	}
	CHECK(hoard.asked != 0 && object != NULL);
	hoard.objects[hoard.count++] = object;
	size_t before = hoard.asked;
	object = plain_alloc(other);
	CHECK(object != NULL && hoard.asked > before);
	plain_holds(hoard.cache, hoard.count);
	plain_free(other, object);
	dry_free_bulk(hoard.cache, hoard.count, hoard.objects);
	CHECK_EQ(dry_cache_unmake(hoard.cache) | dry_cache_unmake(other), 0);
	plain_close(caches);
}

int main(void)
{
	size_t k = 1;

	while (scenario(k, false) != 0)
		k++;
	CHECK(k > 40); /* as many calls there are at least */
	for (size_t from = 1; from < k; from += 1 + from / 16)
		CHECK(scenario(from, true) != 0);
	test_reclaim();
	printf("%zu calls of the backing\n", k - 1);
	return 0;
}
