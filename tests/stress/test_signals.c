/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Signals at any instruction: a timer every millisecond and a storm of SIGUSR1 aimed at
 * each thread in turn. The handlers allocate nothing; what they interrupt must not notice.
 */
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

#include "../support/mix.h"

static atomic_int alarms, users; /* lock-free: handlers may */

static void on_alarm(int sig)
{
	(void)sig;
	alarms++;
}

static void on_user(int sig)
{
	(void)sig;
	users++;
}

static void install(int sig, void (*handler)(int sig))
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };

	CHECK(!sigaction(sig, &action, NULL));
}

static void set_timer(int usec)
{
	struct itimerval timer = { { 0, usec }, { 0, usec } };

	CHECK(!setitimer(ITIMER_REAL, &timer, NULL));
}

int main(int argc, char **argv)
{
	static struct mix mix;
	uint64_t seed = test_seed(argc, argv);

	install(SIGALRM, on_alarm);
	install(SIGUSR1, on_user);
	for (unsigned threads = 2; threads <= 8; threads += 3) {
		struct dry_heap_attr attr = { .name = "signals", .nodes = 2 };
		size_t storms = test_scaled(20000);

		mix_start(&mix, &attr, threads, seed + threads);
		set_timer(1000);
		for (size_t i = 0; mix_goes_on(&mix, i, storms); i++) {
			CHECK(!kill(getpid(), SIGUSR1)); /* any thread */
			CHECK(!pthread_kill(mix.keeper, SIGUSR1));
			if (i % 16 == 0)
				usleep(1000);
		}
		set_timer(0);
		mix_finish(&mix);
	}
	CHECK(alarms > 0 && users > 0);
	return 0;
}
