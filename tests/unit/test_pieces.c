/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A flush goes in pieces. What one piece gave to the slabs another thread may have, and free, before the next piece is
 * taken: that is no double free. Here the "other thread" runs within the wrapped calls that put objects into slabs: of a piece on
 * the stack where there is no memory for shared arrays, else of a shared array that is full, before the array is emptied into it.
 */
#include <drystone/drystone.h>

#include "../support/check.h"
#include "core/batch.h"
#include "core/depot.h"

enum { OBJECTS = 4000, LIMIT = 400 };

static bool without_depots;
static unsigned in_pieces, in_depots;

void __real_dry_node_put_slabs(struct dry_cache *cache, void *const *objects, unsigned count);
void __wrap_dry_node_put_slabs(struct dry_cache *cache, void *const *objects, unsigned count);
dry_slab_ref __real_dry_node_put_chained(struct dry_cache *cache, void *const *objects, unsigned count);
dry_slab_ref __wrap_dry_node_put_chained(struct dry_cache *cache, void *const *objects, unsigned count);
void __real_dry_depot_prepare(struct dry_cache *cache, struct dry_depot *depot, unsigned batches);
void __wrap_dry_depot_prepare(struct dry_cache *cache, struct dry_depot *depot, unsigned batches);

/* The oldest of the piece is taken and freed: now it stands above what will be the next piece. */
static void free_again(dry_cache *cache, void *oldest)
{
	void *taken;

	do
		CHECK_EQ(dry_node_take_slabs(cache, 0, &taken, 1), 1);
	while (taken != oldest);
	dry_cache_free(cache, oldest);
}

void __wrap_dry_node_put_slabs(struct dry_cache *cache, void *const *objects, unsigned count)
{
	void *oldest = objects[0];

	__real_dry_node_put_slabs(cache, objects, count);
	if (in_pieces == 0 && count > 8) {
		free_again(cache, oldest);
		in_pieces++;
	}
}

dry_slab_ref __wrap_dry_node_put_chained(struct dry_cache *cache, void *const *objects, unsigned count)
{
	void *oldest = objects[0];
	dry_slab_ref chain = __real_dry_node_put_chained(cache, objects, count);

	if (in_depots == 0) {
		free_again(cache, oldest);
		in_depots++;
	}
	return chain;
}

void __wrap_dry_depot_prepare(struct dry_cache *cache, struct dry_depot *depot, unsigned batches)
{
	if (!without_depots)
		__real_dry_depot_prepare(cache, depot, batches);
}

static void run(const char *name)
{
	struct dry_cache_attr attr = { .name = name, .size = 64, .limit = LIMIT, .flags = DRY_CACHE_NO_MERGE };
	static void *objects[OBJECTS];
	dry_cache *cache = dry_cache_create(NULL, &attr);

	CHECK(cache);
	for (unsigned i = 0; i < OBJECTS; i++)
		CHECK(objects[i] = dry_cache_alloc(cache));
	for (unsigned i = 0; i < OBJECTS; i++)
		dry_cache_free(cache, objects[i]);
	CHECK_EQ(dry_cache_check(cache), 0);
}

int main(void)
{
	without_depots = true;
	run("pieces");
	CHECK_EQ(in_pieces, 1);
	CHECK_EQ(in_depots, 0);
	without_depots = false;
	run("depots");
	CHECK_EQ(in_pieces, 1);
	CHECK_EQ(in_depots, 1);
	return 0;
}
