/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Handlers on a small alternative stack: what the kernel puts on it, and 2 KiB. Below it is a page that faults. In each profile the
 * handler allocates, resizes and frees blocks of all sizes, in the first call of a thread, too, and while other threads do
 * the same.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/profiles.h"
#include "../support/random.h"

#define ROOM    2048
#define THREADS 3
#define ROUNDS  400
#define BLOCKS  40

static const char *const profiles[] = { "exit_check:1", "check:1", "secure:1", "guard:1,guard_rate:3" };

static __thread void *blocks[BLOCKS];
static __thread struct rng rng;

static void handler(int signal)
{
	size_t i = rng_below(&rng, BLOCKS), size = rng_size(&rng, signal == SIGUSR1 ? 14 : 22);

	if (blocks[i] != NULL && size % 2 == 0) {
		free(blocks[i]);
		blocks[i] = NULL;
		return;
	}
	blocks[i] = realloc(blocks[i], size);
	if (blocks[i] == NULL)
		abort();
	memset(blocks[i], 1, size);
}

/* Its own stack is the kernel's matter: only the handler's is small. */
static void *thread(void *arg)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), frame = getauxval(AT_MINSIGSTKSZ);
	size_t size = (frame != 0 ? frame : MINSIGSTKSZ) + ROOM, whole = (size + page - 1) / page * page;
	char *low = mmap(NULL, page + whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = { .ss_sp = low + page, .ss_size = size };

	CHECK(low != MAP_FAILED);
	CHECK_EQ(mprotect(low, page, PROT_NONE), 0);
	CHECK_EQ(sigaltstack(&stack, NULL), 0);
	rng = (struct rng){ (uint64_t)(uintptr_t)arg };
	for (int round = 0; round < ROUNDS; round++)
		CHECK_EQ(raise(round % 10 ? SIGUSR1 : SIGUSR2), 0);
	for (size_t i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	stack.ss_flags = SS_DISABLE;
	CHECK_EQ(sigaltstack(&stack, NULL), 0);
	CHECK_EQ(munmap(low, page + whole), 0);
	return NULL;
}

static void run(uint64_t seed)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	pthread_t ids[THREADS];

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	CHECK_EQ(sigaction(SIGUSR2, &action, NULL), 0);
	for (unsigned turn = 0; turn < 10; turn++) {
		for (uintptr_t i = 0; i < THREADS; i++)
			CHECK_EQ(pthread_create(&ids[i], NULL, thread, (void *)(uintptr_t)(seed + turn * THREADS + i)), 0);
		for (int i = 0; i < THREADS; i++)
			CHECK_EQ(pthread_join(ids[i], NULL), 0);
	}
}

int main(int argc, char **argv)
{
	return test_in_profiles(argc, argv, profiles, sizeof(profiles) / sizeof(profiles[0]), run);
}
