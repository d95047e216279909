// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Cycles of an allocation and of a free, as slab_test of the documents counted them; the least of some rounds. Then the same of
 * all processors at once, between which the objects are divided: cycles from when all are there to the last one's end, by
 * objects of one.
 */
#include "test/measure.h"

#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/kthread.h>
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

/* ---- all processors at once ---- */

static struct {
	size_t size;
	int each; /* objects of a processor */
	atomic_t waiting, running;
	u64 start, end;
	struct completion done;
} together;

static int take_part(void *unused)
{
	int part = atomic_dec_return(&together.waiting), got = 0;
	void **mine = objects + part * together.each;

	if (part == 0)
		together.start = now();
	while (atomic_read(&together.waiting) > 0)
		cpu_relax();
	while (got < together.each && (mine[got] = kmalloc(together.size, GFP_KERNEL)) != NULL)
		got++;
	while (got > 0)
		kfree(mine[--got]);
	if (atomic_dec_and_test(&together.running)) {
		together.end = now();
		complete(&together.done);
	}
	return 0;
}

static u64 together_of(size_t size)
{
	unsigned int cpu;

	together.size = size;
	together.each = OBJECTS / num_online_cpus();
	init_completion(&together.done);
	atomic_set(&together.waiting, num_online_cpus());
	atomic_set(&together.running, num_online_cpus());
	for_each_online_cpu(cpu)
		if (IS_ERR(kthread_run_on_cpu(take_part, NULL, cpu, "drystone-measure/%u")))
			return 0; /* and no more than that: the others wait for it */
	wait_for_completion(&together.done);
	return div_u64(together.end - together.start, together.each);
}

static void measure_together(void)
{
	for (size_t size = 8; size <= 4096; size *= 2) {
		u64 least = U64_MAX;

		for (int round = 0; round < ROUNDS; round++)
			least = min(least, together_of(size));
		pr_info("drystone-together: %zu bytes: %llu cycles kmalloc and kfree\n", size, least);
	}
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
	if (num_online_cpus() > 1)
		measure_together();
	vfree(objects);
}
