/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Allocation before main and at exit: constructors, atexit handlers, destructors, while threads still run. */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "../support/check.h"
#include "../support/pattern.h"
#include "../support/random.h"

static void *early[500];
static int at_exit_ran;

__attribute__((constructor(101))) static void before_main(void)
{
	for (size_t i = 0; i < 500; i++) {
		CHECK(early[i] = malloc(i * 13 + 1));
		pattern_fill(early[i], i * 13 + 1);
	}
}

static void work(void)
{
	void *blocks[100];

	for (size_t i = 0; i < 100; i++) {
		CHECK(blocks[i] = calloc(1, i * 100 + 1));
		CHECK(all_bytes(blocks[i], i * 100 + 1, 0));
	}
	for (size_t i = 0; i < 100; i++)
		free(blocks[i]);
}

static void at_exit_handler(void)
{
	work();
	at_exit_ran++;
}

static void at_exit_registers_more(void)
{
	work();
	CHECK(!atexit(at_exit_handler));
}

/* The last: 40 handlers and those registered meanwhile have run. */
__attribute__((destructor(101))) static void after_main(void)
{
	if (!at_exit_ran)
		return; /* this is the parent */
	CHECK_EQ(at_exit_ran, 41);
	for (size_t i = 0; i < 500; i++) {
		CHECK(pattern_holds(early[i], i * 13 + 1));
		free(early[i]);
	}
	work();
	_exit(7);
}

static void *busy(void *arg)
{
	struct rng rng = { (uint64_t)(uintptr_t)arg };

	for (;;) {
		void *block = malloc(rng_size(&rng, 14));

		OPAQUE(block);
		free(block);
	}
	return NULL;
}

static void child(uint64_t seed)
{
	pthread_t ids[3];

	for (int i = 0; i < 40; i++)
		CHECK(!atexit(at_exit_handler));
	CHECK(!atexit(at_exit_registers_more));
	for (uintptr_t i = 0; i < 3; i++)
		CHECK(!pthread_create(&ids[i], NULL, busy, (void *)(uintptr_t)(seed + i)));
	work();
	exit(3); /* after_main makes it 7 */
}

int main(int argc, char **argv)
{
	uint64_t seed = test_seed(argc, argv);

	for (size_t round = 0; round < test_scaled(100); round++) {
		int status;
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid)
			child(seed + round);
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK(WIFEXITED(status));
		CHECK_EQ(WEXITSTATUS(status), 7);
	}
	return 0;
}
