/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * malloc(), free() and malloc_trim() are no cancellation points: a thread that is to be cancelled allocates and frees while others
 * stop the arrays time and again, which it may have to wait for, and ends where it asks for that.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "../support/check.h"

#define ROUNDS	 20
#define TRIMMERS 2
#define BLOCKS	 300

extern int malloc_trim(size_t left) __attribute__((weak)); /* musl has none, and then there is no wait */

static _Atomic int over, through;

static void *trim(void *unused)
{
	while (!atomic_load(&over)) {
		void *block = malloc(100);

		if (malloc_trim != NULL)
			malloc_trim(0);
		free(block);
	}
	return unused;
}

static void *allocate(void *unused)
{
	static _Thread_local void *blocks[BLOCKS];

	CHECK(pthread_cancel(pthread_self()) == 0);
	for (int n = 0; n < 100; n++) {
		for (int i = 0; i < BLOCKS; i++)
			CHECK(blocks[i] = malloc(16 + (size_t)n * 8));
		for (int i = 0; i < BLOCKS; i++)
			free(blocks[i]);
		if (n % 10 == 0 && malloc_trim != NULL)
			malloc_trim(0);
	}
	atomic_fetch_add(&through, 1);
	pthread_testcancel();
	return unused;
}

int main(void)
{
	pthread_t trimmers[TRIMMERS], id;

	for (int i = 0; i < TRIMMERS; i++)
		CHECK(pthread_create(&trimmers[i], NULL, trim, NULL) == 0);
	for (int round = 0; round < ROUNDS; round++) {
		void *result;

		CHECK(pthread_create(&id, NULL, allocate, NULL) == 0);
		CHECK(pthread_join(id, &result) == 0);
		CHECK(result == PTHREAD_CANCELED);
		CHECK_EQ(through, round + 1);
	}
	atomic_store(&over, 1);
	for (int i = 0; i < TRIMMERS; i++)
		CHECK(pthread_join(trimmers[i], NULL) == 0);
	return 0;
}
