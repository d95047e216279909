/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Four threads that allocate and free without end, for a reader outside to look at; one more that
 * starts and ends threads. Knows nothing of drystone, unless HEAPS is defined: then one thread
 * makes and destroys heaps and caches all the time.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HEAPS
#include <drystone/drystone.h>
#endif

static void *work(void *seed)
{
	enum { LIVE = 2000 };
	static __thread char *block[LIVE];
	unsigned state = *(unsigned *)seed;

	for (;;) {
		state = state * 1664525u + 1013904223u;
		unsigned i = (state >> 8) % LIVE;
		size_t size = 1 + (state >> 12) % ((state >> 28) == 0 ? 60000 : 700);
		free(block[i]);
		block[i] = malloc(size);
		if (block[i] == NULL)
			abort();
		memset(block[i], 1, size < 64 ? size : 64);
	}
	return NULL;
}

static void *once(void *unused)
{
	free(malloc(100));
	return unused;
}

int main(void)
{
	static unsigned seeds[4] = { 1, 2, 3, 4 };
	pthread_t thread;

	for (int i = 0; i < 4; i++)
		if (pthread_create(&thread, NULL, work, &seeds[i]) != 0)
			return 1;
	puts("ready");
	fflush(stdout);
	for (;;) {
		if (pthread_create(&thread, NULL, once, NULL) == 0)
			pthread_join(thread, NULL);
#ifdef HEAPS
		struct dry_heap_attr attr = { .name = "second heap" };
		dry_heap *heap = dry_heap_create(&attr);
		if (heap == NULL)
			return 1;
		for (unsigned i = 1; i < 20; i++) {
			char name[32];
			snprintf(name, sizeof(name), "kind %u", i);
			struct dry_cache_attr kind = { .name = name, .size = i * 24, .flags = DRY_CACHE_NO_MERGE };
			dry_cache *cache = dry_cache_create(heap, &kind);
			if (cache == NULL || dry_cache_alloc(cache) == NULL)
				return 1;
		}
		usleep(300);
		dry_heap_destroy(heap);
#endif
	}
}
