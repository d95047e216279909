// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Cycles of an allocation and of a free, as slab_test of the documents counted them; the least of some rounds. */
#include "test/measure.h"

#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/timex.h>
#include <linux/vmalloc.h>

#define OBJECTS 10000
#define ROUNDS  7

static void **objects;

static u64 now(void)
{
#if defined(CONFIG_X86) || (defined(CONFIG_UML) && defined(__x86_64__))
	return __builtin_ia32_rdtsc();
#else
	return get_cycles();
#endif
}

static void run_of(size_t size, u64 *alloc, u64 *free)
{
	u64 start = now(), between;
	int got = 0;

	while (got < OBJECTS && (objects[got] = kmalloc(size, GFP_KERNEL)) != NULL)
		got++;
	between = now();
	for (int i = 0; i < got; i++)
		kfree(objects[i]);
	*alloc = min(*alloc, div_u64(between - start, OBJECTS));
	*free = min(*free, div_u64(now() - between, OBJECTS));
}

static u64 pair_of(size_t size)
{
	u64 start = now();

	for (int i = 0; i < OBJECTS; i++)
		kfree(kmalloc(size, GFP_KERNEL));
	return div_u64(now() - start, OBJECTS);
}

void dry_measure(void)
{
	objects = vmalloc(OBJECTS * sizeof(*objects));
	if (objects == NULL)
		return;
	for (size_t size = 8; size <= 4096; size *= 2) {
		u64 alloc = U64_MAX, free = U64_MAX, pair = U64_MAX;

		for (int round = 0; round < ROUNDS; round++) {
			run_of(size, &alloc, &free);
			pair = min(pair, pair_of(size));
		}
		pr_info("drystone-measure: %zu bytes: %llu cycles kmalloc, %llu kfree, %llu pair\n", size, alloc, free, pair);
	}
	vfree(objects);
}
