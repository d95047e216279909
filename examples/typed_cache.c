/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A typed cache with a constructor.
 *
 * A connection keeps its buffer and its state between uses: the constructor
 * makes an object once, when its slab is made, and each user frees it in the
 * state in which it was got. What the constructor did is then not done again.
 */
#include <stdio.h>
#include <string.h>

#include <drystone/drystone.h>

enum { IDLE, BUSY };

struct connection {
	int state;        /* IDLE whenever the object is free */
	int uses;         /* grows over the object's life; free does not reset it */
	char greeting[32];
};

static unsigned constructed;

static void connection_construct(void *object, void *arg)
{
	(void)arg;
	struct connection *connection = object;

	connection->state = IDLE;
	connection->uses = 0;
	strcpy(connection->greeting, "hello");
	constructed++;
}

/* One round of use. 0, or -1 if an object was not as the constructor and its last user left it. */
static int serve(dry_cache *cache, struct connection **open, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		open[i] = dry_cache_alloc(cache);
		if (open[i] == NULL || open[i]->state != IDLE || strcmp(open[i]->greeting, "hello") != 0)
			return -1;
		open[i]->state = BUSY;
		open[i]->uses++;
	}
	for (size_t i = 0; i < n; i++) {
		if (open[i]->state != BUSY)
			return -1;
		open[i]->state = IDLE;
		dry_cache_free(cache, open[i]);
	}
	return 0;
}

int main(void)
{
	enum { CONNECTIONS = 1000, ROUNDS = 10 };
	static struct connection *open[CONNECTIONS];
	struct dry_cache_stats stats;
	dry_heap *heap = dry_heap_create(NULL);
	dry_cache *cache;

	if (heap == NULL)
		return 1;
	cache = dry_cache_create(heap, &(struct dry_cache_attr){
		.name = "connection",
		.size = sizeof(struct connection),
		.flags = DRY_CACHE_HWALIGN,
		.ctor = connection_construct,
	});
	if (cache == NULL)
		return 1;
	for (int round = 0; round < ROUNDS; round++)
		if (serve(cache, open, CONNECTIONS) != 0)
			return 1;

	if (dry_cache_stats(cache, &stats) != 0)
		return 1;
	printf("%s: %u constructed for %u allocations, %zu objects of %zu bytes in %zu slabs\n", stats.name,
	       constructed, CONNECTIONS * ROUNDS, stats.objects, stats.stride, stats.slabs);
	/* Far fewer than one construction per allocation, and every object is back. */
	if (constructed < CONNECTIONS || constructed >= CONNECTIONS * ROUNDS || stats.active_objects != 0)
		return 1;

	if (dry_cache_destroy(cache) != 0)
		return 1;
	return dry_heap_destroy(heap) != 0;
}
