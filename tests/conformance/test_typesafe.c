/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Type-stable caches with a provider of grace periods that the test drives by hand: until it
 * says so, no page of a slab may leave the cache, and nothing writes into freed objects.
 */
/* DRY_TEST_NOT_TINY: no grace periods. */
#include <stdlib.h>

#include "../support/exercise.h"
#include "../support/pages.h"

#define TAG 0x7a67u

struct typed {
	uint64_t tag; /* written by the constructor only */
	uint64_t value;
	char rest[184];
};

struct provider {
	struct dry_grace_head *heads[4096];
	size_t waiting, calls, barriers;
};

static void run_waiting(struct provider *provider)
{
	while (provider->waiting) {
		struct dry_grace_head *head = provider->heads[--provider->waiting];

		head->func(head);
	}
}

static void provider_call(void *arg, struct dry_grace_head *head, void (*func)(struct dry_grace_head *head))
{
	struct provider *provider = arg;

	CHECK(provider->waiting < 4096);
	head->func = func;
	memset(head->opaque, 0xdd, sizeof(head->opaque)); /* the provider's own */
	provider->heads[provider->waiting++] = head;
	provider->calls++;
}

static void provider_barrier(void *arg)
{
	struct provider *provider = arg;

	provider->barriers++;
	run_waiting(provider);
}

static void construct(void *object, void *arg)
{
	(void)arg;
	struct typed *typed = object;

	typed->tag = TAG;
	typed->value = 0;
}

static void hold_type(dry_heap *heap, dry_cache *cache, struct provider *provider)
{
	enum { N = 3000 };
	static struct typed *objects[N];
	static void *others[N];
	const int n = (int)test_fit(N, sizeof(struct typed));
	size_t hogged = 0, in_use;
	dry_cache *hog = make_cache(heap, "hog", 4096, 0, DRY_CACHE_NO_MERGE);

	CHECK(hog);
	for (int i = 0; i < n; i++) {
		CHECK(objects[i] = dry_cache_alloc(cache));
		CHECK_EQ(objects[i]->tag, TAG);
		objects[i]->value = (uint64_t)i + 1;
	}
	for (int i = 0; i < n; i++)
		dry_cache_free(cache, objects[i]);
	CHECK_EQ(stats_of(cache).active_objects, 0);
	in_use = heap_stats_of(heap).in_use;
	dry_cache_shrink(cache);
	CHECK(provider->waiting > 0);
	/* a reader that still looks sees the type and the last value: nobody writes */
	while (hogged < N && (others[hogged] = dry_cache_alloc(hog)))
		memset(others[hogged++], 0xbb, 4096);
	for (int i = 0; i < n; i++) {
		CHECK_EQ(objects[i]->tag, TAG);
		CHECK_EQ(objects[i]->value, i + 1);
	}
	dry_cache_free_bulk(hog, hogged, others);
	CHECK_EQ(dry_cache_destroy(hog), 0);
	CHECK_EQ(dry_heap_check(heap), 0);
	run_waiting(provider);
	CHECK(heap_stats_of(heap).in_use < in_use);
	CHECK_EQ(stats_of(cache).slabs, 0);
	CHECK_EQ(dry_heap_check(heap), 0);
}

static void test_types(const struct dry_heap_attr *attr, struct provider *provider)
{
	static const unsigned types[] = { 0, DRY_CACHE_NORMAL, DRY_CACHE_OFF_SLAB, DRY_CACHE_BITMAP,
					  DRY_CACHE_PUBLISHED };

	for (int t = 0; t < 5; t++) {
		dry_heap *heap = dry_heap_create(attr);
		struct dry_cache_attr cache_attr = { .name = "typesafe",
						     .size = sizeof(struct typed) + test_any_type() - 64,
						     .flags = DRY_CACHE_TYPESAFE_BY_RCU | types[t],
						     .ctor = construct };
		dry_cache *cache = dry_cache_create(heap, &cache_attr);
		size_t barriers;

		CHECK(heap && cache);
		hold_type(heap, cache, provider);
		hold_type(heap, cache, provider);
		/* objects freed, grace period pending: destroying waits for it */
		void *object = dry_cache_alloc(cache);
		dry_cache_free(cache, object);
		dry_cache_shrink(cache);
		barriers = provider->barriers;
		CHECK_EQ(dry_cache_destroy(cache), 0);
		CHECK_EQ(dry_heap_destroy(heap), 0);
		CHECK(provider->barriers > barriers);
		CHECK_EQ(provider->waiting, 0);
	}
}

/* Without constructor the content is undefined when handed out, but a free keeps it. */
static void test_plain(const struct dry_heap_attr *attr, struct provider *provider, struct rng *rng)
{
	dry_heap *heap = dry_heap_create(attr);
	dry_cache *cache = make_cache(heap, "plain", 64, 0, DRY_CACHE_TYPESAFE_BY_RCU);
	void *objects[500];

	CHECK(heap && cache);
	for (int i = 0; i < 500; i++) {
		CHECK(objects[i] = dry_cache_alloc(cache));
		pattern_fill(objects[i], 64);
	}
	rng_shuffle(rng, objects, 500);
	for (int i = 0; i < 500; i++)
		dry_cache_free(cache, objects[i]);
	dry_cache_shrink(cache);
	dry_heap_reap(heap);
	dry_heap_trim(heap);
	for (int i = 0; i < 500; i++)
		CHECK(pattern_holds(objects[i], 64));
	run_waiting(provider);
	exercise_cache(heap, cache, test_scaled(20000), rng);
	CHECK_EQ(dry_heap_destroy(heap), 0); /* with slabs that still wait */
	CHECK_EQ(provider->waiting, 0);
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };
	static struct provider provider;
	const struct dry_grace grace = { provider_call, provider_barrier, &provider };
	const struct dry_heap_attr attr = { .name = "typesafe", .grace = &grace };

	test_types(&attr, &provider);
	test_plain(&attr, &provider, &rng);
	CHECK(provider.calls > 0);
	return 0;
}
