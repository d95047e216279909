// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * A program whose profile is known: what each function allocates in all and holds at the end, in size classes of just these
 * sizes; and objects of typed caches, where the library has them. Two threads; small() and other() take turns, and typed() and
 * zeroed() do, so that a sample with a rhythm would see but one of them. It prints FUNCTION IN-ALL HELD for each. Then, with
 * argument `again`, it goes on until there is a line on standard input; with `call FILE` it has asked for samples itself, and
 * writes them.
 */
#include <drystone/drystone.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS  150000
#define LARGEST (2u << 20)
#define KEPT    100000 /* of each thread's small() */
#define OBJECT  200
#define OBJECTS 20000 /* of each thread's typed() and zeroed() */

#pragma weak dry_cache_create
#pragma weak dry_cache_alloc
#pragma weak dry_cache_zalloc
#pragma weak dry_cache_free
#pragma weak dry_profile_heap
#pragma weak dry_profile_write

static void *small_kept[2][KEPT], *pages[2][64], *big_one, *objects[2][OBJECTS];
static dry_cache *cache;

__attribute__((noinline)) static void *small(void)
{
	void *block = malloc(64);
	__asm__ volatile("" : "+r"(block));
	return block;
}

__attribute__((noinline)) static void *other(void)
{
	void *block = calloc(1, 64);
	__asm__ volatile("" : "+r"(block));
	return block;
}

__attribute__((noinline)) static void *page(void)
{
	void *block = malloc(4096);
	__asm__ volatile("" : "+r"(block));
	return block;
}

__attribute__((noinline)) static void *big(size_t size)
{
	big_one = realloc(big_one, size);
	memset(big_one, 1, 16);
	return big_one;
}

__attribute__((noinline)) static void *typed(void)
{
	void *object = dry_cache_alloc(cache);
	__asm__ volatile("" : "+r"(object));
	return object;
}

__attribute__((noinline)) static void *zeroed(void)
{
	void *object = dry_cache_zalloc(cache);
	__asm__ volatile("" : "+r"(object));
	return object;
}

static void work_typed(unsigned round, void **place)
{
	if (*place != NULL)
		dry_cache_free(cache, *place);
	*place = round % 2 == 0 ? typed() : zeroed();
}

static void *work(void *arg)
{
	size_t me = (size_t)arg;
	unsigned random = 1 + (unsigned)me;

	for (unsigned i = 0; i < ROUNDS; i++) {
		void **place = &small_kept[me][i % KEPT];
		random = random * 1103515245 + 12345;
		free(*place);
		*place = i % 2 == 0 ? small() : other();
		if (cache != NULL)
			work_typed(i, &objects[me][i % OBJECTS]);
		if (i % 20 == 0) {
			free(pages[me][random >> 16 & 63]);
			pages[me][random >> 16 & 63] = page();
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct pollfd input = { .fd = 0, .events = POLLIN };
	size_t bytes = 0, held = 0, last = 0;
	pthread_t thread;

	if (argc > 1 && strcmp(argv[1], "call") == 0 && dry_profile_heap(512) != 0)
		return 3;
	if (dry_cache_create != NULL)
		cache = dry_cache_create(NULL, &(struct dry_cache_attr){ .name = "session", .size = OBJECT });
	pthread_create(&thread, NULL, work, (void *)1);
	work((void *)0);
	pthread_join(thread, NULL);
	for (size_t size = 32768 + 4096; size < LARGEST; size += 65536) {
		big(size);
		bytes += size;
		last = size;
	}
	for (unsigned i = 0; i < 128; i++)
		held += pages[i / 64][i % 64] != NULL ? 4096 : 0;
	printf("small %u %u\n", ROUNDS * 64, KEPT * 64);
	printf("other %u %u\n", ROUNDS * 64, KEPT * 64);
	if (cache != NULL) {
		printf("typed %u %u\n", ROUNDS * OBJECT, OBJECTS * OBJECT);
		printf("zeroed %u %u\n", ROUNDS * OBJECT, OBJECTS * OBJECT);
	}
	printf("page %u %zu\n", 2 * ROUNDS / 20 * 4096, held);
	printf("big %zu %zu\n", bytes, last);
	fflush(stdout);
	if (argc > 2 && dry_profile_write(argv[2]) != 0)
		return 4;
	while (argc > 1 && strcmp(argv[1], "again") == 0 && poll(&input, 1, 1) == 0)
		work((void *)0);
	return 0;
}
