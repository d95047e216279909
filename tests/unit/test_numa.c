/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * On a machine with several memory nodes: a thread on a processor of each allocates objects, slabs, runs and big blocks, and
 * the kernel says on which node their pages lie; what is freed from another node's processor goes home. Elsewhere: skipped.
 * DRY_TEST_NO_SANITIZER: shadow memory and redzones would be what is placed.
 */
#include <drystone/drystone.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "check.h"
#include "port/contract.h"

#define NODES   8
#define OBJECTS 20000
#define BLOCKS  40
#define ROUNDS  3

static struct {
	int id, cpu;
} node[NODES]; /* with memory and a processor */
static unsigned nodes;

struct work {
	dry_heap *heap;
	dry_cache *cache;
	unsigned node;
	void *object[OBJECTS];
	void *block[BLOCKS];
	void *untouched[2]; /* a run, a big block */
};
static struct work work[NODES];

static void find_nodes(void)
{
	char path[64];

	for (int id = 0; id < 64 && nodes < NODES; id++) {
		unsigned long kib = 0;
		int cpu = -1, n;

		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", id);
		FILE *file = fopen(path, "r");
		if (file == NULL)
			continue;
		n = fscanf(file, "%d", &cpu);
		fclose(file);
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", id);
		file = fopen(path, "r");
		if (file == NULL || n != 1)
			continue;
		n = fscanf(file, "Node %*d MemTotal: %lu", &kib);
		fclose(file);
		if (n == 1 && kib != 0) {
			node[nodes].id = id;
			node[nodes++].cpu = cpu;
		}
	}
}

/* The id of the node that a touched page lies on. */
static int lies_on(void *at)
{
	void *page = (void *)((uintptr_t)at & ~(uintptr_t)4095);
	int status = -1;

	CHECK(syscall(SYS_move_pages, 0, 1ul, &page, NULL, &status, 0) == 0);
	return status;
}

static void pin(unsigned to)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(node[to].cpu, &set);
	CHECK(sched_setaffinity(0, sizeof(set), &set) == 0);
}

static size_t block_size(int i)
{
	static const size_t sizes[] = { 20000, 300000, 3 << 20, 5 << 20 };

	return sizes[i % 4];
}

static void *allocate(void *arg)
{
	struct work *w = arg;
	unsigned away = 0;

	pin(w->node);
	for (int i = 0; i < OBJECTS; i++) {
		w->object[i] = i % 2 != 0 ? dry_cache_alloc(w->cache) : dry_alloc(w->heap, 16 + (size_t)i % 1000);
		CHECK(w->object[i] != NULL);
		memset(w->object[i], 1, 16);
		away += lies_on(w->object[i]) != node[w->node].id;
	}
	CHECK_EQ(away, 0);
	for (int i = 0; i < BLOCKS; i++) {
		char *block = w->block[i] = dry_alloc(w->heap, block_size(i));
		CHECK(block != NULL);
		memset(block, 1, block_size(i));
		for (size_t at = 0; at < block_size(i); at += 65536)
			away += lies_on(block + at) != node[w->node].id;
	}
	CHECK_EQ(away, 0);
	for (int i = 0; i < 2; i++)
		w->untouched[i] = dry_alloc(w->heap, block_size(1 + 2 * i));
	return NULL;
}

/* What the thread before this one allocated. */
static void *release(void *arg)
{
	struct work *w = arg, *of = &work[(w->node + 1) % nodes];

	pin(w->node);
	for (int i = 0; i < 2; i++) { /* where it was allocated, not where it is touched */
		char *middle = (char *)of->untouched[i] + block_size(1 + 2 * i) / 2;
		*middle = 1;
		CHECK_EQ(lies_on(middle), node[of->node].id);
		dry_free(of->heap, of->untouched[i]);
	}
	for (int i = 0; i < OBJECTS; i++)
		if (i % 2 != 0)
			dry_cache_free(of->cache, of->object[i]);
		else
			dry_free(of->heap, of->object[i]);
	for (int i = 0; i < BLOCKS; i++)
		dry_free(of->heap, of->block[i]);
	return NULL;
}

/*
 * One node after the other, so that all find the same. Objects that wait in the arrays of a slot would be the next thread's, or
 * the next ones of its processor, wherever they lie: they go into their slabs.
 */
static void everywhere(void *(*body)(void *))
{
	for (unsigned i = 0; i < nodes; i++) {
		pthread_t thread;
		CHECK(pthread_create(&thread, NULL, body, &work[i]) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
		dry_heap_trim(work[i].heap);
	}
}

static size_t in_use(dry_heap *heap)
{
	struct dry_heap_stats stats;

	CHECK_EQ(dry_heap_stats(heap, &stats), 0);
	return stats.in_use + stats.extents;
}

static void trial(dry_heap *heap)
{
	struct dry_cache_attr attr = { .name = "numa", .size = 200, .flags = DRY_CACHE_NO_MERGE };
	dry_cache *cache = dry_cache_create(heap, &attr);
	size_t first = 0;

	CHECK(cache != NULL);
	for (unsigned i = 0; i < nodes; i++)
		work[i] = (struct work){ .heap = heap, .cache = cache, .node = i };
	for (int round = 0; round < ROUNDS; round++) {
		everywhere(allocate);
		if (round == 0)
			first = in_use(heap);
		else /* what went home was found there */
			CHECK(in_use(heap) < first + first / 20);
		everywhere(release);
		CHECK_EQ(dry_heap_check(heap), 0);
	}
	dry_cache_destroy(cache);
}

int main(void)
{
	find_nodes();
	dry_heap *heap = dry_heap_create(NULL);
	CHECK(heap != NULL);
	if (nodes < 2 || dry_port_nodes() == 1) {
		printf("one memory node, or a port that knows of no more\n");
		return 77;
	}
	CHECK(dry_port_nodes() >= nodes);
	printf("%u nodes of %u\n", nodes, dry_port_nodes());
	trial(heap);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	trial(NULL);
	return 0;
}
