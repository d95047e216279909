/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* secure:1 under a limit that is met by memory which is free: big blocks are guarded all the same, from the first one on. */
/* DRY_TEST_NOT_TINY: it has no guarded blocks. */
#include <drystone/drystone.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/check.h"

#define CONF   "secure:1,limit:128M,background:0,decay_ms:3600000"
#define SIZE   1000
#define MOST   200000
#define BLOCKS 100

static void *small[MOST], *big[BLOCKS];

static size_t guarded(void)
{
	struct dry_heap_stats stats;

	CHECK_EQ(dry_heap_stats(NULL, &stats), 0);
	return stats.guarded;
}

/* What is free then has been touched, and waits to be used again. */
static void fill_and_drop(void)
{
	size_t count = 0;

	while (count < MOST && (small[count] = dry_alloc(NULL, SIZE)) != NULL)
		memset(small[count++], 1, SIZE);
	CHECK(count > 80000 && count < MOST);
	while (count > 0)
		dry_free(NULL, small[--count]);
}

int main(int argc, char **argv)
{
	(void)argc;
	if (!getenv("DRYSTONE_CONF") || strcmp(getenv("DRYSTONE_CONF"), CONF) != 0) {
		setenv("DRYSTONE_CONF", CONF, 1);
		execv("/proc/self/exe", argv);
		return 3;
	}
	for (int round = 0; round < 3; round++) {
		fill_and_drop();
		for (int i = 0; i < BLOCKS; i++) {
			size_t before = guarded(), size = i % 2 ? 100000 : 20000;
			CHECK(big[i] = dry_alloc(NULL, size));
			CHECK(guarded() >= before + size);
		}
		for (int i = 0; i < BLOCKS; i++)
			dry_free(NULL, big[i]);
	}
	return 0;
}
