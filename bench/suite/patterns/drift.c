/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Live sets that drift, for fragmentation: about 24 MB are live all the time (in all threads together), and the sizes
 * that are asked for change from phase to phase; blocks chosen at random are freed to make room, and every byte is
 * written. So some blocks of each phase survive, between holes that later sizes may not fit.
 *
 *   drift       sizes about a centre that goes from 32 bytes to 3 KiB and back to 100; each phase allocates three times
 *               the live set, so that few blocks outlive their phase
 *   drift_hard  the same, but a phase allocates only two thirds of the live set: much survives
 *
 * They end with the blocks live: `live` and `resident` are to be compared. An operation is one block. The table of
 * blocks is not the allocator's; what of it is touched counts as live. Here a short run is one with a smaller live set:
 * a quarter of it, and at tiny scales next to nothing.
 */
#define _GNU_SOURCE
#include "patterns.h"

#include <string.h>
#include <sys/mman.h>

#define LIVE   24000000.0
#define PHASES 12

static const uint16_t centre[PHASES] = { 32, 48, 80, 128, 200, 330, 520, 850, 1400, 3000, 700, 100 };

/* The live blocks of one thread in no order; 0 <= count <= highest <= room. */
struct set {
	struct suite_block **block;
	size_t count, highest, room, bytes;
};

static void drop_one(struct set *set, uint64_t *random)
{
	size_t i = bench_range(random, 0, (uint32_t)set->count - 1);

	set->bytes -= set->block[i]->size;
	suite_free(set->block[i]);
	set->block[i] = set->block[--set->count];
}

static void add_one(struct suite_worker *w, struct set *set, size_t size)
{
	void *memory = malloc(size);

	if (memory == NULL || set->count == set->room)
		bench_die("out of memory");
	memset(memory, (int)w->ops, size);
	set->block[set->count++] = suite_mark(memory, size);
	if (set->count > set->highest)
		set->highest = set->count;
	set->bytes += size;
	w->ops++;
	w->check += size;
}

/* `budget` bytes of sizes from half the centre to one and a half of it. */
static void phase(struct suite_worker *w, struct set *set, uint32_t middle, size_t limit, size_t budget)
{
	for (size_t done = 0; done < budget;) {
		size_t size = bench_range(&w->random, middle / 2, middle + middle / 2);

		while (set->count > 0 && set->bytes + size > limit)
			drop_one(set, &w->random);
		add_one(w, set, size);
		done += size;
	}
}

static double turnover; /* of the live set, in each phase */
static size_t live[64]; /* by thread, at the end */

static void drift(struct suite_worker *w)
{
	double scale = w->suite->scale;
	size_t limit = (size_t)(LIVE / w->suite->threads * (scale < 0.01 ? scale : scale < 0.25 ? 0.25 : 1.0));
	struct set set = { .room = limit / 16 + 1 };

	set.block =
		mmap(NULL, set.room * sizeof(set.block[0]), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (set.block == MAP_FAILED)
		bench_die("out of memory");
	phase(w, &set, centre[0], limit, limit);
	for (size_t p = 1; p < PHASES; p++)
		phase(w, &set, centre[p], limit, (size_t)((double)limit * turnover));
	live[w->index] = set.bytes + set.highest * sizeof(set.block[0]);
}

static void run(struct suite *suite, double times)
{
	turnover = times;
	suite_threads(suite, drift);
	for (unsigned t = 0; t < suite->threads; t++)
		suite->live += live[t];
}

void pattern_drift(struct suite *suite)
{
	run(suite, 3.0);
}

void pattern_drift_hard(struct suite *suite)
{
	run(suite, 2.0 / 3.0);
}
