/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Objects that own others: constructors and destructors allocate and free, blocks and objects of another cache, in their own heap,
 * in the middle of whatever gives slabs back, and blocks of sizes that nobody had before.
 * DRY_TEST_NOT_TINY: constructors call into no heap there
 * DRY_TEST_CONF: checked=check:1
 * DRY_TEST_CONF: secured=secure:1
 * DRY_TEST_CONF: guarded=guard:1,guard_rate:3
 * DRY_TEST_CONF: debugged=debug:FZPQ
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "../support/exercise.h"

#define N 3000

struct owner {
	char *block;
	void *part;
	size_t size;
};

struct life {
	dry_heap *heap;
	dry_cache *parts;
	_Atomic size_t made, unmade;
};

static size_t size_of(size_t number)
{
	return 1 + number * 37 % 5000;
}

static void construct(void *object, void *arg)
{
	struct life *life = arg;
	struct owner *owner = object;
	size_t number = atomic_fetch_add(&life->made, 1);

	owner->size = size_of(number);
	owner->block = dry_alloc(life->heap, owner->size);
	owner->part = dry_cache_alloc(life->parts);
	CHECK(owner->block != NULL && owner->part != NULL);
	memset(owner->block, (int)owner->size, owner->size);
}

static void destruct(void *object, void *arg)
{
	struct life *life = arg;
	struct owner *owner = object;
	size_t number = atomic_fetch_add(&life->unmade, 1);
	/* of classes that are made nowhere else, too */
	void *scratch = dry_alloc(life->heap, 6000 + size_of(number) * 4);

	CHECK(scratch != NULL);
	for (size_t i = 0; i < owner->size; i++)
		CHECK_EQ((unsigned char)owner->block[i], owner->size & 0xff);
	dry_free(life->heap, owner->block);
	dry_cache_free(life->parts, owner->part);
	dry_free(life->heap, scratch);
}

static void use(dry_cache *cache, void **objects)
{
	for (size_t i = 0; i < N; i++) {
		objects[i] = dry_cache_alloc(cache);
		CHECK(objects[i] != NULL);
	}
	for (size_t i = 0; i < N; i++)
		dry_cache_free(cache, objects[i]);
}

/* Something is idle beside it, so that frees have a reason to give back. */
static void idle_beside(dry_heap *heap)
{
	enum { BIG = 900 };
	static void *block[BIG];

	for (size_t i = 0; i < BIG; i++) {
		block[i] = dry_alloc(heap, 7000 + i % 5 * 100);
		CHECK(block[i] != NULL);
		memset(block[i], 1, 7000);
	}
	for (size_t i = 0; i < BIG; i++)
		dry_free(heap, block[i]);
}

static struct life life;
static dry_cache *cache;

static void *run(void *arg)
{
	static void *objects[2][N];

	for (int round = 0; round < 5; round++)
		use(cache, objects[(uintptr_t)arg]);
	return NULL;
}

static void own(dry_heap *heap, bool threads)
{
	static void *objects[N];
	pthread_t thread[2];

	life = (struct life){ .heap = heap };
	life.parts = dry_cache_create(heap, &(struct dry_cache_attr){ .name = "parts", .size = 40 });
	cache = dry_cache_create(heap, &(struct dry_cache_attr){ .name = "owners", .size = sizeof(struct owner), .ctor = construct,
								 .dtor = destruct, .arg = &life });
	CHECK(life.parts != NULL && cache != NULL);
	for (int round = 0; round < 4; round++) {
		use(cache, objects);
		idle_beside(heap);
		dry_heap_reap(heap);
		use(cache, objects);
		dry_heap_trim(heap);
		use(cache, objects);
		dry_cache_shrink(cache);
	}
	for (uintptr_t i = 0; threads && i < 2; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, run, (void *)i), 0);
	for (int round = 0; threads && round < 20; round++) {
		dry_heap_reap(heap);
		idle_beside(heap);
	}
	for (uintptr_t i = 0; threads && i < 2; i++)
		pthread_join(thread[i], NULL);
	CHECK_EQ(dry_cache_prefill(cache, 500), 0);
	dry_cache_prefill(cache, 0);
	CHECK_EQ(dry_heap_check(heap), 0);
	CHECK_EQ(dry_cache_destroy(cache), 0);
	CHECK(life.made > N && life.made == life.unmade);
	CHECK_EQ(dry_cache_destroy(life.parts), 0);
	CHECK_EQ(dry_heap_check(heap), 0);
}

int main(void)
{
	dry_heap *heap = dry_heap_create(NULL);

	CHECK(heap != NULL);
	alarm(100);
	own(NULL, false);
	own(heap, false);
	own(NULL, true);
	own(heap, true);
	dry_heap_destroy(heap);
	return 0;
}
