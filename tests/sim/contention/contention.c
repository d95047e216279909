/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sim_contention [--objects=N] [--size=B] [--nodes=N] [--cpus=A,B,...] [--limit=N] [--variant=V]: on 2 to 64
 * simulated CPUs at once, each CPU allocates N objects of one cache, and when all have done so frees them again. All CPUs
 * advance in step: one step of each in turn. Prints, by lock rank, as CSV:
 *
 *   acquisitions and tries in vain; how many acquisitions waited; steps of the machine (of all CPUs together)
 *   that went by in waits; the holder's own steps while it held the lock; steps in all; whether
 *   each CPU took its objects back itself or (other) the next CPU's.
 *
 * Variants of refill: default; published: slabs of the published types and sizes; attach_first: the same, and a
 * new slab is attached to its node before objects are taken from it, as before 2016. --limit: of the arrays.
 *
 * A step is a contract call, an atomic access or a step of a sequence; work between two of them
 * costs nothing here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <drystone/experiment.h>

#include "port/contract.h"
#include "port/sim/sim.h"

static struct {
	unsigned long objects, size, nodes, limit;
	unsigned cpus, flags;
	bool free_other;
	dry_cache *cache;
	void **at[DRY_SIM_CPUS];
} run = { 2000, 64, 1, 0, 0, 0, false, NULL, { NULL } };

static const struct {
	const char *argument;
	unsigned flags;
} variants[] = {
	{ "--variant=default", 0 },
	{ "--variant=published", DRY_CACHE_PUBLISHED },
	{ "--variant=attach_first", DRY_CACHE_PUBLISHED | DRY_CACHE_ATTACH_FIRST },
};

static const char *const rank_name[DRY_RANK_COUNT] = {
	[DRY_RANK_HEAPS] = "heaps",   [DRY_RANK_REAP] = "reap",     [DRY_RANK_CACHES] = "caches",
	[DRY_RANK_ALIEN] = "alien",   [DRY_RANK_SHARED] = "shared", [DRY_RANK_NODE] = "node",
	[DRY_RANK_EXTENT] = "extent", [DRY_RANK_PAGE] = "page",
};

static void allocate(unsigned task)
{
	for (unsigned long i = 0; i < run.objects; i++) {
		run.at[task][i] = dry_cache_alloc(run.cache);
		if (run.at[task][i] == NULL)
			dry_sim_fail("no memory");
	}
}

static void give_back(unsigned task)
{
	void **at = run.at[run.free_other ? (task + 1) % run.cpus : task];

	for (unsigned long i = 0; i < run.objects; i++)
		dry_cache_free(run.cache, at[i]);
}

static void print(const char *phase, uint64_t steps)
{
	for (unsigned rank = 1; rank < DRY_RANK_COUNT; rank++) {
		const struct dry_sim_lock_stats *stats = &dry_sim_lock_stats[rank];

		if (stats->acquired == 0 && stats->tried == 0)
			continue;
		printf("%u,%lu,%lu,%lu,%s,%s,%s,%llu,%llu,%llu,%llu,%llu,%llu\n", run.cpus, run.nodes, run.objects,
		       run.size, run.free_other ? "other" : "own", phase,
		       rank_name[rank] != NULL ? rank_name[rank] : "?", (unsigned long long)stats->acquired,
		       (unsigned long long)stats->tried, (unsigned long long)stats->waits,
		       (unsigned long long)stats->wait_steps, (unsigned long long)stats->hold_steps,
		       (unsigned long long)steps);
	}
	memset(dry_sim_lock_stats, 0, sizeof(dry_sim_lock_stats));
}

static void phase(const char *name, void (*body)(unsigned task))
{
	uint64_t before = dry_sim_steps();

	memset(dry_sim_lock_stats, 0, sizeof(dry_sim_lock_stats));
	dry_sim_run(body);
	print(name, dry_sim_steps() - before);
}

static void measure(unsigned cpus)
{
	struct dry_sim_setup setup = { .cpus = cpus, .nodes = (unsigned)run.nodes, .tasks = cpus, .lockstep = true };
	struct dry_cache_attr attr = { .name = "measured", .size = run.size, .limit = (unsigned)run.limit,
				       .flags = DRY_CACHE_NO_MERGE | run.flags };
	dry_heap *heap;

	run.cpus = cpus;
	dry_sim_begin(&setup);
	heap = dry_heap_create(NULL);
	run.cache = heap != NULL ? dry_cache_create(heap, &attr) : NULL;
	for (unsigned i = 0; i < cpus; i++)
		run.at[i] = calloc(run.objects, sizeof(void *));
	if (run.cache == NULL || run.at[cpus - 1] == NULL)
		dry_sim_fail("no memory");
	phase("alloc", allocate);
	phase("free", give_back);
	phase("alloc again", allocate);
	phase("free again", give_back);
	for (unsigned i = 0; i < cpus; i++)
		free(run.at[i]);
	if (dry_cache_destroy(run.cache) != 0 || dry_heap_destroy(heap) != 0)
		dry_sim_fail("objects are left");
}

static bool number(const char *arg, const char *name, unsigned long *value)
{
	size_t length = strlen(name);

	if (strncmp(arg, name, length) != 0 || arg[length] != '=')
		return false;
	*value = strtoul(arg + length + 1, NULL, 0);
	return true;
}

static bool variant(const char *arg)
{
	for (size_t v = 0; v < sizeof(variants) / sizeof(variants[0]); v++)
		if (strcmp(arg, variants[v].argument) == 0) {
			run.flags = variants[v].flags;
			return true;
		}
	return false;
}

int main(int argc, char **argv)
{
	const char *list = "2,4,8,16,32,64";

	for (int i = 1; i < argc; i++) {
		if (number(argv[i], "--objects", &run.objects) || number(argv[i], "--size", &run.size) ||
		    number(argv[i], "--nodes", &run.nodes) || number(argv[i], "--limit", &run.limit) || variant(argv[i]))
			continue;
		if (strncmp(argv[i], "--cpus=", 7) == 0) {
			list = argv[i] + 7;
		} else if (strcmp(argv[i], "--other") == 0) {
			run.free_other = true;
		} else {
			puts("sim_contention [--objects=N] [--size=BYTES] [--nodes=1..8] [--cpus=2,4,...] [--other] "
			     "[--limit=1..512] [--variant=default|published|attach_first]");
			return strcmp(argv[i], "--help") == 0 ? 0 : 2;
		}
	}
	if (run.objects == 0 || run.nodes < 1 || run.nodes > 8 || run.limit > 512)
		return 2;
	puts("cpus,nodes,objects,size,freed_by,phase,lock,acquired,tried_in_vain,waited,wait_steps,hold_steps,steps");
	for (char *end; *list != '\0'; list = *end == ',' ? end + 1 : end) {
		unsigned long cpus = strtoul(list, &end, 10);

		if (end == list || cpus < 1 || cpus > DRY_SIM_CPUS)
			return 2;
		measure((unsigned)cpus);
	}
	return 0;
}
