// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * many_slabs SLABS [SECONDS]: a heap of so many slabs of a page each, with memory behind none of them: nothing is written
 * to their objects, and what is known of them lies elsewhere. Then "ready"; then, at a line of input each, pairs of malloc
 * and free for so many seconds of CPU time, and how many there were.
 */
#include <drystone/experiment.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { CACHES = 16, OBJECTS = 4, BLOCKS = 512 };

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static unsigned long pairs(double seconds)
{
	static void *block[BLOCKS];
	unsigned long count = 0;

	for (double end = now() + seconds; now() < end;)
		for (unsigned i = 0; i < 20000; i++, count++) {
			unsigned at = (unsigned)(count * 2654435761u >> 7) % BLOCKS;

			free(block[at]);
			block[at] = malloc(16 + at);
		}
	return count;
}

int main(int argc, char **argv)
{
	size_t slabs = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000, bytes = slabs * 4096 + slabs * 256 + ((size_t)64 << 20);
	double seconds = argc > 2 ? strtod(argv[2], NULL) : 1;
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	dry_cache *cache[CACHES];
	dry_heap *heap;
	unsigned state = 1;

	if (memory == MAP_FAILED || madvise(memory, bytes, MADV_NOHUGEPAGE) != 0)
		return 2;
	heap = dry_heap_create(&(struct dry_heap_attr){ .name = "many", .memory = memory, .memory_size = bytes, .nodes = 1 });
	for (int i = 0; i < CACHES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "many-%d", i);
		cache[i] = dry_cache_create(heap, &(struct dry_cache_attr){ .name = name, .size = 4096 / OBJECTS - 24,
				.flags = DRY_CACHE_OFF_SLAB | DRY_CACHE_SMALL_SLABS | DRY_CACHE_NO_MERGE });
		if (cache[i] == NULL)
			return 2;
	}
	for (size_t i = 0; i < OBJECTS * slabs; i++) {
		state = state * 1103515245 + 12345;
		if (dry_cache_alloc(cache[state >> 16 & (CACHES - 1)]) == NULL)
			return 3;
	}
	puts("ready");
	fflush(stdout);
	while (getchar() == '\n') {
		printf("%lu\n", pairs(seconds));
		fflush(stdout);
	}
	return 0;
}
