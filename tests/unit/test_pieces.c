/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A flush goes in pieces. What one piece gave to the slabs another thread may have, and free, before the next piece is
 * taken: that is no double free. Here the "other thread" runs within the wrapped dry_node_put_slabs.
 */
#include <drystone/drystone.h>

#include "../support/check.h"
#include "core/batch.h"

enum { OBJECTS = 4000, LIMIT = 400 };

static void *taken[OBJECTS];
static unsigned again;

void __real_dry_node_put_slabs(struct dry_cache *cache, void *const *objects, unsigned count);
void __wrap_dry_node_put_slabs(struct dry_cache *cache, void *const *objects, unsigned count);

/* The oldest of the piece is taken and freed: now it stands above what will be the next piece. */
static void free_again(dry_cache *cache, void *oldest)
{
	unsigned count = 0;

	do {
		CHECK(count < OBJECTS);
		CHECK(taken[count] = dry_cache_alloc(cache));
	} while (taken[count++] != oldest);
	dry_cache_free(cache, oldest);
	again++;
}

void __wrap_dry_node_put_slabs(struct dry_cache *cache, void *const *objects, unsigned count)
{
	void *oldest = objects[0];

	__real_dry_node_put_slabs(cache, objects, count);
	if (again == 0 && count > 8)
		free_again(cache, oldest);
}

int main(void)
{
	struct dry_cache_attr attr = { .name = "pieces", .size = 64, .limit = LIMIT, .flags = DRY_CACHE_NO_MERGE };
	static void *objects[OBJECTS];
	dry_cache *cache = dry_cache_create(NULL, &attr);

	CHECK(cache);
	for (unsigned i = 0; i < OBJECTS; i++)
		CHECK(objects[i] = dry_cache_alloc(cache));
	for (unsigned i = 0; i < OBJECTS; i++)
		dry_cache_free(cache, objects[i]);
	CHECK_EQ(again, 1);
	CHECK_EQ(dry_cache_check(cache), 0);
	return 0;
}
