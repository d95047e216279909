/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The port's lock: mutual exclusion, sleeping and waking, try, fork, abort; ranks in debug builds. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>

#include "check.h"
#include "port/contract.h"
#include "random.h"

#define THREADS 6

static struct dry_lock lock = DRY_LOCK_INIT(DRY_RANK_PAGE);
static size_t counter, inside; /* guarded by lock */
static size_t rounds;

static void *count_up(void *arg)
{
	struct rng rng = { (uint64_t)(uintptr_t)arg };
	size_t i;

	for (i = 0; i < rounds; i++) {
		if (rng_below(&rng, 4) != 0)
			dry_lock_acquire(&lock);
		else
			while (!dry_lock_try(&lock))
				dry_port_yield();
		CHECK_EQ(inside++, 0);
		counter++;
		/* now and then the holder is off the CPU, so that others must sleep */
		if (rng_below(&rng, 200) == 0)
			dry_port_yield();
		if (rng_below(&rng, 5000) == 0)
			dry_port_sleep_ms(1);
		CHECK_EQ(--inside, 0);
		dry_lock_release(&lock);
	}
	return NULL;
}

static void exclusion(struct rng *rng)
{
	pthread_t thread[THREADS];
	size_t i;

	rounds = test_scaled(50000);
	for (i = 0; i < THREADS; i++)
		CHECK(pthread_create(&thread[i], NULL, count_up, (void *)(uintptr_t)rng_next(rng)) == 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	CHECK_EQ(counter, THREADS * rounds);
}

static void *take_and_leave(void *arg)
{
	dry_lock_acquire(&lock);
	dry_lock_release(&lock);
	return arg;
}

/* A waiter that has long been asleep is woken. */
static void wakes(void)
{
	pthread_t thread;

	dry_lock_acquire_unranked(&lock); /* pthread_create() may take any lock of the library */
	CHECK(!dry_lock_try(&lock));
	CHECK(pthread_create(&thread, NULL, take_and_leave, NULL) == 0);
	dry_port_sleep_ms(50);
	dry_lock_release(&lock);
	pthread_join(thread, NULL);
	CHECK(dry_lock_try(&lock));
	dry_lock_release(&lock);
}

static _Atomic bool waited;

static void *take_and_tell(void *arg)
{
	waited = dry_lock_acquire_contended(&lock);
	dry_lock_release(&lock);
	return arg;
}

/* Told is who waited, and nobody else. */
static void tells_who_waits(void)
{
	pthread_t thread;

	take_and_tell(NULL);
	CHECK(!waited);
	for (int tries = 0; !waited && tries < 100; tries++) { /* the thread may begin late */
		dry_lock_acquire_unranked(&lock);
		CHECK(pthread_create(&thread, NULL, take_and_tell, NULL) == 0);
		dry_port_sleep_ms(20);
		dry_lock_release(&lock);
		pthread_join(thread, NULL);
	}
	CHECK(waited);
}

static void in_child(void (*fn)(void), int *status)
{
	pid_t child = fork();

	if (child == 0) {
		fn();
		_exit(0);
	}
	CHECK(child > 0 && waitpid(child, status, 0) == child);
}

static void reinit_and_use(void)
{
	dry_lock_reinit(&lock);
	CHECK(dry_lock_try(&lock));
	dry_lock_release(&lock);
	dry_lock_acquire(&lock);
	dry_lock_release(&lock);
}

static void fork_while_held(void)
{
	pthread_t thread;
	int status;

	dry_lock_acquire_unranked(&lock);
	/* with a waiter asleep, whom the child does not have */
	CHECK(pthread_create(&thread, NULL, take_and_leave, NULL) == 0);
	dry_port_sleep_ms(20);
	in_child(reinit_and_use, &status);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	dry_lock_release(&lock);
	pthread_join(thread, NULL);
}

static void keeps_errno(void)
{
	errno = 77;
	wakes();
	CHECK_EQ(errno, 77);
}

#ifdef DRY_DEBUG
static struct dry_lock low = DRY_LOCK_INIT(DRY_RANK_NODE), high = DRY_LOCK_INIT(DRY_RANK_PORT);

static void wrong_order(void)
{
	close(2); /* the line is expected */
	dry_lock_acquire(&high);
	dry_lock_acquire(&low);
}
static void same_rank(void)
{
	struct dry_lock other = DRY_LOCK_INIT(DRY_RANK_NODE);

	close(2);
	dry_lock_acquire(&low);
	dry_lock_acquire(&other);
}
static void right_order(void)
{
	struct dry_lock other = DRY_LOCK_INIT(DRY_RANK_NODE), unranked = DRY_LOCK_INIT(DRY_RANK_NODE);

	dry_lock_acquire(&low);
	dry_lock_acquire(&high);
	CHECK(dry_lock_try(&other)); /* a try cannot deadlock */
	dry_lock_release(&other);
	dry_lock_release(&low);
	dry_lock_release(&high);
	/* Another lock than above: the thread sanitizer judges by its own order, which this must not turn round. */
	dry_lock_acquire_unranked(&unranked);
	dry_lock_acquire(&low);
	dry_lock_release(&low);
	dry_lock_release(&unranked);
}

static void ranks(void)
{
	int status;

	in_child(right_order, &status);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	in_child(wrong_order, &status);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	in_child(same_rank, &status);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}
#else
static void ranks(void)
{
}
#endif

static sigjmp_buf away;

static void leave(int signal)
{
	(void)signal;
	siglongjmp(away, 1);
}

/* A handler of SIGABRT finds no lock of its thread held, as many as there may be at a time. */
static void lets_go_at_abort(void)
{
	static const enum dry_rank most[] = { DRY_RANK_HEAPS,	    DRY_RANK_REAP,   DRY_RANK_CACHES, DRY_RANK_MAIN_REAP,
					      DRY_RANK_MAIN_CACHES, DRY_RANK_SHARED, DRY_RANK_NODE };
	enum { MOST = sizeof(most) / sizeof(most[0]) };
	static struct dry_lock held[MOST];
	struct sigaction action = { .sa_handler = leave }, before;

	CHECK(!sigaction(SIGABRT, &action, &before));
	for (size_t i = 0; i < MOST; i++) {
		dry_lock_init(&held[i], most[i]);
		dry_lock_acquire(&held[i]);
	}
	if (sigsetjmp(away, 1) == 0)
		dry_port_abort();
	CHECK(dry_lock_none_held());
	for (size_t i = 0; i < MOST; i++) {
		CHECK(dry_lock_try(&held[i]));
		dry_lock_release(&held[i]);
	}
	CHECK(!sigaction(SIGABRT, &before, NULL));
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };

	exclusion(&rng);
	wakes();
	fork_while_held();
	tells_who_waits();
	keeps_errno();
	lets_go_at_abort();
	ranks();
	return 0;
}
