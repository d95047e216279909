/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The process's limit, taken of by threads: what is refused is in nobody's way, not for a moment; and no more is given than there
 * is.
 * DRY_TEST_NO_NORSEQ, DRY_TEST_NO_POSIX: a counter knows nothing of either.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "check.h"
#include "page/budget.h"

#define MIB   ((size_t)1 << 20) /* the threads themselves take some */
#define LIMIT (1000 * MIB)
#define TURNS 2000000
#define PART  (400 * MIB) /* two of them fit */

static atomic_bool done;
static atomic_size_t taken, refused;

static void *takes_too_much(void *arg)
{
	(void)arg;
	while (!done)
		CHECK(!dry_budget_take(refused++ % 2 == 0 ? LIMIT + 1 : SIZE_MAX - LIMIT));
	return NULL;
}

static void *takes_parts(void *arg)
{
	for (int i = 0; i < TURNS; i++)
		if (dry_budget_take(PART)) {
			CHECK(atomic_fetch_add(&taken, PART) + PART <= LIMIT);
			atomic_fetch_sub(&taken, PART);
			dry_budget_give(PART);
		} else {
			CHECK(arg != NULL); /* where two parts at most are out, there is one */
		}
	return NULL;
}

/* Beside one that is always refused. */
static void run(unsigned threads, void *arg)
{
	pthread_t thread[4], other;

	done = false;
	CHECK_EQ(pthread_create(&other, NULL, takes_too_much, NULL), 0);
	for (unsigned i = 0; i < threads; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, takes_parts, arg), 0);
	for (unsigned i = 0; i < threads; i++)
		CHECK_EQ(pthread_join(thread[i], NULL), 0);
	done = true;
	CHECK_EQ(pthread_join(other, NULL), 0);
	CHECK(refused != 0);
}

int main(void)
{
	CHECK(dry_budget_take(SIZE_MAX / 2)); /* no limit */
	dry_budget_give(SIZE_MAX / 2);
	dry_budget_limit(dry_budget_used() + LIMIT);
	run(2, NULL);
	run(4, &done);
	CHECK(dry_budget_has_room(2 * PART) && !dry_budget_has_room(LIMIT + PART));
	return 0;
}
