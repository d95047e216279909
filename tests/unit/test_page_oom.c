/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A fixed workload on an arena and on extents, in which the k-th request for memory fails, for
 * every k: what cannot be had is NULL, nothing is lost, and all works afterwards.
 * DRY_TEST_NO_NORSEQ: pages know nothing of slots.
 */
#include <fcntl.h>

#include "check.h"
#include "fail_port.h"
#include "page/extent.h"
#include "page/page.h"
#include "random.h"

#define RUNS    12
#define EXTENTS 200 /* so that the registry grows */

static struct dry_arena arena;
static struct dry_extents extents;

/* Address space of the process in pages. Without stdio: its blocks, on a CPU that is new to the process, bring a slot's arrays. */
static long address_space(void)
{
	char text[32];
	int statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(statm, text, sizeof(text) - 1);
	long pages;

	CHECK(statm >= 0 && n > 0);
	close(statm);
	text[n] = '\0';
	pages = strtol(text, NULL, 10);
	CHECK(pages > 0);
	return pages;
}

static size_t use_arena(uint64_t seed)
{
	struct rng rng = { seed };
	struct dry_page *run[RUNS];
	size_t failed = 0, i;

	for (i = 0; i < RUNS; i++) {
		run[i] = dry_arena_alloc(&arena, 1024 - (uint32_t)rng_below(&rng, 400), 1, 0);
		failed += run[i] == NULL;
		CHECK(dry_arena_check(&arena) == NULL);
	}
	for (i = 0; i < RUNS; i++)
		if (run[i] != NULL)
			dry_arena_free(&arena, run[i]);
	dry_arena_purge_all(&arena);
	CHECK(dry_arena_check(&arena) == NULL);
	CHECK_EQ(arena.used, 0);
	return failed;
}

static size_t use_extents(void)
{
	static char *block[EXTENTS];
	size_t failed = 0, i;
	size_t dirty;
	char *moved;

	for (i = 0; i < EXTENTS; i++) {
		block[i] = dry_extent_alloc(&extents, (i % 7 + 1) * 65536, 65536, 0, &dirty);
		failed += block[i] == NULL;
		if (block[i] == NULL)
			continue;
		CHECK(dry_extent_size(&extents, block[i]) == (i % 7 + 1) * 65536);
		block[i][0] = 1;
	}
	for (i = 0; i < EXTENTS; i += 16) {
		if (block[i] == NULL)
			continue;
		moved = dry_extent_resize(&extents, block[i], (i % 7 + 1) * 131072, &dirty);
		if (moved != NULL)
			block[i] = moved;
		CHECK(dry_extent_size(&extents, block[i]) >= (i % 7 + 1) * (moved != NULL ? 131072 : 65536));
	}
	CHECK(dry_extents_check(&extents) == NULL);
	for (i = 0; i < EXTENTS; i++)
		CHECK(block[i] == NULL || dry_extent_free(&extents, block[i]));
	dry_extent_decay(&extents, 0);
	CHECK_EQ(extents.cached_bytes, 0);
	CHECK_EQ(extents.live, 0);
	CHECK_EQ(extents.promised, 0);
	CHECK(dry_extents_check(&extents) == NULL);
	return failed;
}

/* false: the k-th request was never made. */
static bool workload(long k, bool all_after, uint64_t seed)
{
	struct dry_arena_attr attr = { .reserve = 32768 * dry_port_page_size(), .page_size = 0 }; /* half of it suffices */
	long before = address_space();
	bool reached;
	int made;

	atomic_store(&dry_fail_calls, 0);
	atomic_store(&dry_fail_after, all_after);
	atomic_store(&dry_fail_at, k);
	made = dry_arena_init(&arena, &attr);
	CHECK(made == 0 || made == -ENOMEM);
	dry_extents_init(&extents, 1 << 20, 1, NULL);
	if (made == 0)
		use_arena(seed);
	use_extents();
	reached = atomic_load(&dry_fail_calls) >= k;
	atomic_store(&dry_fail_at, 0);
	if (made == 0)
		CHECK_EQ(use_arena(seed), 0);
	CHECK_EQ(use_extents(), 0);
	if (made == 0)
		dry_arena_fini(&arena);
	dry_extents_fini(&extents);
	CHECK_EQ(address_space(), before);
	return reached;
}

int main(int argc, char **argv)
{
	uint64_t seed = test_seed(argc, argv);
	long k, tried = 0, stride = (long)test_stride();

	workload(1, false, seed);
	for (k = 1; workload(k, false, seed); k += stride)
		tried++;
	for (k = 1; k < 64; k += stride)
		workload(k, true, seed);
	printf("%ld requests failed one by one\n", tried);
	CHECK(tried * stride > 300);
	return 0;
}
