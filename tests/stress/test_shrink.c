/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Reap, trim, shrink, statistics, listing, creation and destruction of caches while threads allocate. */
#include <errno.h>
#include <stdlib.h>

#include "../support/mix.h"

static void swallow(void *arg, const char *text, size_t bytes)
{
	*(size_t *)arg += bytes + (text[0] == 0);
}

static int look(dry_cache *cache, void *arg)
{
	struct dry_cache_stats stats;
	int rc = dry_cache_stats(cache, &stats);

	++*(size_t *)arg;
	CHECK(rc == -EINVAL /* another thread has destroyed it */ || (rc == 0 && stats.name && stats.objects_per_slab > 0));
	return 0;
}

static void short_lived(struct mix *mix, struct rng *rng)
{
	dry_cache *cache = make_cache(mix->heap, "short-lived", rng_size(rng, 12), 0,
				      rng_below(rng, 2) ? DRY_CACHE_NO_MERGE : 0);
	void *objects[100];
	size_t n = rng_below(rng, 100) + 1;

	CHECK(cache);
	CHECK_EQ(dry_cache_prefill(cache, n), 0);
	CHECK_EQ(dry_cache_alloc_bulk(cache, n, objects), n);
	dry_cache_free_bulk(cache, n, objects);
	CHECK_EQ(dry_cache_destroy(cache), 0);
}

static void disturb(struct mix *mix, struct rng *rng)
{
	size_t sum = 0;

	switch (rng_below(rng, 8)) {
	case 0:
		dry_heap_reap(mix->heap);
		break;
	case 1:
		dry_heap_trim(mix->heap);
		break;
	case 2:
		dry_heap_slabinfo(mix->heap, swallow, &sum);
		CHECK(sum > 100);
		break;
	case 3:
		CHECK_EQ(dry_heap_for_each_cache(mix->heap, look, &sum), 0);
		CHECK(sum >= MIX_CACHES);
		break;
	case 4:
		short_lived(mix, rng);
		break;
	case 5:
		heap_stats_of(mix->heap);
		break;
	default:
		dry_cache_shrink(mix->caches[rng_below(rng, MIX_CACHES)]);
	}
}

static void *disturber(void *arg)
{
	struct mix *mix = arg;
	struct rng rng = { mix->seed ^ 0xd15u };

	while (!mix->stop)
		disturb(mix, &rng);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct mix mix;
	uint64_t seed = test_seed(argc, argv);

	for (unsigned threads = 2; threads <= 8; threads += 3) {
		struct dry_heap_attr attr = { .name = "shrink", .nodes = threads / 2 };
		struct rng rng = { seed * 7 + threads };
		size_t rounds = test_scaled(1500);
		pthread_t second;

		mix_start(&mix, &attr, threads, seed + threads);
		CHECK(!pthread_create(&second, NULL, disturber, &mix));
		for (size_t i = 0; mix_goes_on(&mix, i, rounds); i++) {
			disturb(&mix, &rng);
			usleep(500);
		}
		mix.stop = 1;
		CHECK(!pthread_join(second, NULL));
		mix_finish(&mix);
	}
	return 0;
}
