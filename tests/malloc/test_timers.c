/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Timers that call a function (SIGEV_THREAD) in a program whose heap is big enough for the helper thread: libc's thread for them
 * has a signal of libc's own blocked, and keeps it so, whichever call starts the helper; likewise where a report is written. In
 * each profile.
 * DRY_TEST_NO_NORSEQ: nothing in it depends on restartable sequences.
 */
#define _GNU_SOURCE 1
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/profiles.h"

#define HELD ((size_t)20 << 20)

static _Atomic int fired;

static void work(union sigval value)
{
	void *block[300];

	(void)value;
	atomic_fetch_add(&fired, 1);
	for (size_t i = 0; i < sizeof(block) / sizeof(block[0]); i++)
		CHECK(block[i] = malloc(20 * i));
	for (size_t i = 0; i < sizeof(block) / sizeof(block[0]); i++)
		free(block[i]);
}

/* So that what libc allocates for a timer is had without a miss, in which this thread would start the helper. */
static void warm(void)
{
	for (size_t size = 16; size <= 2048; size += 16) {
		void *block = malloc(size);
		CHECK(block != NULL);
		free(block);
	}
}

static void run(uint64_t seed)
{
	const struct timespec tick = { 0, 1000000 };
	char *held = malloc(HELD);

	(void)seed;
	CHECK(held != NULL);
	memset(held, 1, HELD);
	warm();
	for (int i = 0; i < 10; i++) {
		struct sigevent event = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = work };
		struct itimerspec every = { tick, tick };
		timer_t timer;

		CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
		CHECK_EQ(timer_settime(timer, 0, &every, NULL), 0);
		usleep(30000); /* the calls are theirs alone */
		CHECK_EQ(timer_delete(timer), 0);
	}
	CHECK(atomic_load(&fired) > 0);
}

int main(int argc, char **argv)
{
	static const char *const profiles[] = { "abort:1", "check:1", "guard:1,guard_rate:100", "secure:1",
						"metrics:/dev/null,metrics_ms:10" };

	return test_in_profiles(argc, argv, profiles, sizeof(profiles) / sizeof(profiles[0]), run);
}
