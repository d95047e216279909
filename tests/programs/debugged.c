// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* For gdb: blocks of each kind, whose addresses are in variables; it stops in stop_here(). */
#ifdef TYPED
#include <drystone/drystone.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *live, *freed, *run, *extent, *middle;
#ifdef TYPED
dry_cache *typed, *unsafe;
dry_heap *heap;
void *last, *gone; /* of typed; one is freed */
#endif

__attribute__((noinline)) void stop_here(void)
{
	__asm__ volatile("" : : : "memory");
}

int main(int argc, char **argv)
{
	live = malloc(100);
	freed = malloc(100);
	run = malloc(100000);
	extent = malloc(5 << 20);
	middle = extent + 12345;
	strcpy(live, "live");
	free(freed);
#ifdef TYPED /* linked with the library */
	typed = dry_cache_create(NULL, &(struct dry_cache_attr){ .name = "letters", .size = 304, .flags = DRY_CACHE_NO_MERGE });
	for (int i = 0; i < 100; i++)
		if ((last = dry_cache_alloc(typed)) == NULL)
			return 1;
	gone = dry_cache_alloc(typed);
	dry_cache_free(typed, gone);
	unsafe = dry_cache_create(NULL, &(struct dry_cache_attr){ .name = "r\033[31m \xe9", .size = 312,
								  .flags = DRY_CACHE_NO_MERGE });
	heap = dry_heap_default();
#endif
	stop_here();
	if (argc > 1) {
		printf("%p %p %p %p\n", (void *)live, (void *)freed, (void *)run, (void *)extent);
#ifdef TYPED
		printf("%p %p\n", (void *)typed, (void *)heap);
#endif
		fflush(stdout);
		pause();
	}
	return argv[0] == NULL;
}
