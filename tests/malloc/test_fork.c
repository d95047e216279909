/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * fork() of a threaded process: eight threads allocate and fork for ten seconds, and both
 * sides go on allocating. A child verifies what its thread held, starts a thread of its
 * own now and then, and some fork again, beside that thread.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include "../support/check.h"
#include "../support/pattern.h"
#include "../support/random.h"

#define THREADS 8
#define HELD	200

struct held {
	void *at;
	size_t size;
};

static volatile int stop;
static unsigned long forks;

static void churn(struct held *held, struct rng *rng, int steps)
{
	for (int i = 0; i < steps; i++) {
		struct held *h = &held[rng_below(rng, HELD)];

		if (h->at)
			CHECK(pattern_holds(h->at, h->size));
		free(h->at);
		h->size = rng_size(rng, i % 100 ? 12 : 19);
		CHECK(h->at = malloc(h->size));
		pattern_fill(h->at, h->size);
	}
}

static void drop(struct held *held)
{
	for (int i = 0; i < HELD; i++) {
		if (held[i].at)
			CHECK(pattern_holds(held[i].at, held[i].size));
		free(held[i].at);
		held[i].at = NULL;
	}
}

static void *child_thread(void *arg)
{
	struct held held[HELD] = { { NULL, 0 } };
	struct rng rng = { (uint64_t)(uintptr_t)arg };

	churn(held, &rng, 2000);
	drop(held);
	return NULL;
}

static void wait_for(pid_t pid)
{
	int status;

	CHECK(pid > 0);
	CHECK(waitpid(pid, &status, 0) == pid);
	if (status)
		fprintf(stderr, "child ended with status %#x\n", (unsigned)status);
	CHECK_EQ(status, 0);
}

static __attribute__((noreturn)) void child(struct held *held, struct rng *rng, int depth)
{
	int beside = rng_below(rng, 4) == 0;
	pthread_t id;

	alarm(60); /* a child that hangs in a lock is a failure, not a wait without end */
	churn(held, rng, 300);
	if (beside) {
		CHECK(!pthread_create(&id, NULL, child_thread, (void *)(uintptr_t)rng_next(rng)));
		churn(held, rng, 300);
	}
	if (depth < 2 && rng_below(rng, 4) == 0) {
		pid_t pid = fork();

		if (!pid)
			child(held, rng, depth + 1);
		churn(held, rng, 100);
		wait_for(pid);
	}
	if (beside)
		CHECK(!pthread_join(id, NULL));
	drop(held);
	_exit(0);
}

static void *thread(void *arg)
{
	struct held held[HELD] = { { NULL, 0 } };
	struct rng rng = { (uint64_t)(uintptr_t)arg };
	unsigned long n = 0;

	for (; !stop; n++) {
		churn(held, &rng, 200);
		pid_t pid = fork();
		if (!pid)
			child(held, &rng, 0);
		churn(held, &rng, 200);
		wait_for(pid);
	}
	drop(held);
	__atomic_fetch_add(&forks, n, __ATOMIC_RELAXED);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t seed = test_seed(argc, argv);
	pthread_t ids[THREADS];
	time_t end = time(NULL) + (time_t)test_scaled(6);

	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&ids[i], NULL, thread, (void *)(uintptr_t)(seed * 1000 + i)));
	while (time(NULL) < end)
		usleep(50000);
	stop = 1;
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_join(ids[i], NULL));
	printf("%lu forks\n", forks);
	CHECK(forks > 0);
	return 0;
}
