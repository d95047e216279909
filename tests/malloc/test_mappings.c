/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The system counts mappings (vm.max_map_count, 65,530 as a rule), and what is freed leaves none behind: in each profile, blocks
 * come and go, each third of them guarded under guard:1, and at no time has the process more than some for each block that lives
 * or is held back. Threads start and a library is loaded afterwards.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/check.h"
#include "../support/mappings.h"
#include "../support/profiles.h"
#include "../support/random.h"

#define LIVE   500
#define STEPS  60000
#define LOOKS  10
#define MOST   2500 /* guard:1 has up to 1,024 guarded blocks, and holds as many back */

static const char *const profiles[] = { "exit_check:1", "check:1", "secure:1", "guard:1,guard_rate:3", "debug:FZPUQ" };

static void *thread(void *arg)
{
	free(malloc(1000));
	return arg;
}

static void run(uint64_t seed)
{
	static void *blocks[LIVE];
	struct rng rng = { seed };
	size_t steps = test_scaled(STEPS), most = 0;
	pthread_t id;

	for (size_t step = 0; step < steps; step++) {
		size_t i = rng_below(&rng, LIVE), size = rng_size(&rng, 14);

		free(blocks[i]);
		CHECK(blocks[i] = malloc(size));
		memset(blocks[i], 1, size);
		if (step % (steps / LOOKS) == 0 && test_mappings() > most)
			most = test_mappings();
	}
	if (test_mappings() > most)
		most = test_mappings();
	printf("%s: %zu mappings\n", getenv("DRYSTONE_CONF"), most);
	CHECK(most <= MOST);
	CHECK_EQ(pthread_create(&id, NULL, thread, NULL), 0);
	CHECK_EQ(pthread_join(id, NULL), 0);
#ifdef __GLIBC__ /* another libc is one library */
	CHECK(dlopen("libresolv.so.2", RTLD_NOW));
#endif
}

int main(int argc, char **argv)
{
	return test_in_profiles(argc, argv, profiles, sizeof(profiles) / sizeof(profiles[0]), run);
}
