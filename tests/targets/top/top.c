/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Memory up to the last address, behind which is NULL: as a heap's first pool and as a further one, to be used and given back. */
#include <drystone/tiny.h>
#include <stdio.h>
#include <string.h>

enum { BYTES = 65536, SIZE = 24, MOST = BYTES / SIZE };

static char *const top = (char *)(uintptr_t)(0u - BYTES);
static char *objects[MOST];

/* Returns how many objects there were, or 0. */
static int used(dry_heap *heap)
{
	dry_cache *cache = dry_cache_create(heap, &(struct dry_cache_attr){ .name = "all", .size = SIZE });
	int n = 0;

	for (; n < MOST && (objects[n] = dry_cache_alloc(cache)) != NULL; n++)
		memset(objects[n], n, SIZE);
	if (dry_heap_check(heap) != 0)
		return 0;
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < SIZE; k++)
			if (objects[i][k] != (char)i)
				return 0;
		dry_cache_free(cache, objects[i]);
	}
	return dry_cache_destroy(cache) == 0 && dry_heap_check(heap) == 0 && dry_alloc(heap, BYTES * 9 / 10) >= (void *)top ? n : 0;
}

int main(void)
{
	static _Alignas(16) char low[2048];
	dry_heap *heap = dry_heap_create(&(struct dry_heap_attr){ .memory = top, .memory_size = BYTES });
	int first = heap != NULL ? used(heap) : 0, further = 0;

	heap = dry_heap_create(&(struct dry_heap_attr){ .memory = low, .memory_size = sizeof(low) });
	if (heap != NULL && dry_heap_add(heap, top, BYTES) == 0)
		further = used(heap);
	printf("%d and %d objects of %d bytes\n", first, further, SIZE);
	return first < MOST * 9 / 10 || further < MOST * 9 / 10;
}
