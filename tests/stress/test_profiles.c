/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Eight threads over the default heap, which is the one that DRYSTONE_CONF works on, while it is reaped,
 * trimmed, listed and forked, and guarding begins and ends. Run once for each of
 *
 * DRY_TEST_CONF: secure=secure:1
 * DRY_TEST_CONF: guarded=guard:1,guard_rate:50
 * DRY_TEST_CONF: debug=debug:FZPUQ
 * DRY_TEST_CONF: checked=check:1
 * DRY_TEST_CONF: profiled=profile:64
 */
#include <drystone/process.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "../support/mix.h"

static void swallow(void *arg, const char *text, size_t bytes)
{
	*(size_t *)arg += bytes + (text[0] == 0);
}

/* A child, which has the forking thread alone, frees what that holds and works on. */
static void fork_once(struct mix *mix, struct mix_block *held, struct rng *rng)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (!pid) {
		alarm(120); /* a hang is a failure */
		mix_work(mix, held, rng, 200, false);
		mix_drop(mix, held);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
}

static bool debugs; /* written at start: debugged caches see all, and none are guarded */

/* -EAGAIN: on a busy machine, and rarely; with patience it comes to pass. */
static void guard(size_t mean)
{
	int rc = -EAGAIN;

	for (int tries = 0; tries < 20 && rc == -EAGAIN; tries++)
		rc = dry_guard(mean);
	CHECK_EQ(rc, mean != 0 && debugs ? -EOPNOTSUPP : 0);
}

static void disturb(struct mix *mix, struct mix_block *held, struct rng *rng)
{
	size_t sum = 0;

	switch (rng_below(rng, 8)) {
	case 0:
		dry_heap_reap(NULL);
		break;
	case 1:
		dry_heap_trim(NULL);
		break;
	case 2:
		dry_heap_slabinfo(NULL, swallow, &sum);
		CHECK(sum > 100);
		break;
	case 3:
		guard(rng_below(rng, 3) * 40);
		break;
	case 4:
		fork_once(mix, held, rng);
		break;
	case 5:
		dry_cache_shrink(mix->caches[rng_below(rng, MIX_CACHES)]);
		break;
	default:
		mix_work(mix, held, rng, 200, true);
	}
}

int main(int argc, char **argv)
{
	static struct mix mix;
	static struct mix_block held[MIX_HELD];
	struct rng rng = { test_seed(argc, argv) };
	const char *conf = getenv("DRYSTONE_CONF");
	size_t rounds = test_scaled(120), most = test_scaled(600000);

	debugs = conf && strstr(conf, "debug:");
	CHECK(!debugs || dry_ctl("guard", "1") == -EOPNOTSUPP);
	mix_start(&mix, NULL, MIX_THREADS, rng.state);
	/*
	 * On a busy machine the threads make several times as many steps meanwhile. The mappings of secure:1 grow with them,
	 * and the address sanitizer, which needs some of its own, ended with the 65,530 that a process may have.
	 */
	for (size_t i = 0; mix_goes_on(&mix, i, rounds); i++) {
		if (i >= rounds / 4 && __atomic_load_n(&mix.steps, __ATOMIC_RELAXED) > most)
			break;
		disturb(&mix, held, &rng);
		usleep(1000);
	}
	mix_drop(&mix, held);
	mix_finish(&mix);
	return 0;
}
