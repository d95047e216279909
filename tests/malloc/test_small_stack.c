/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Small stacks: no call takes more than 1.5 KiB of its caller's, in slow paths, too; threads of the smallest stack that
 * there is, with 2 KiB of frames of their own, live (musl's is of 2 KiB in all: there it is what these frames and such a call
 * take). The stack is painted, and looked at after each call, that which starts the helper thread, too, with libc's
 * pthread_create() below it. Meanwhile the thread is moved from CPU to CPU, whose arrays have other objects.
 * The same with check:1, secure:1, guard:1, where each third block is guarded, and a heap profile, both of which take traces of the
 * stack; and all of them with limits of address space and data, which are looked at where most of the stack is in use.
 */
#define _GNU_SOURCE 1
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/glibc.h"
#include "../support/random.h"

#define STACK  ((size_t)256 << 10)
#define DEPTH  ((size_t)8 << 10) /* painted before each call */
#ifdef DRY_DEBUG
#define MOST   2048
#else
#define MOST   1536
#endif
#define BLOCKS 3000
#define KNOWN_BYTES 1000
#define OWN    2048 /* frames of a program */
#define AROUND 1024 /* and those of the functions here */
#define PAINT  UINT64_C(0x5bd1e995a7c3f00d)

static char *stack;
static void *blocks[BLOCKS + 1]; /* the last for what allocates nothing */

enum kind { MALLOC, CALLOC, MEMALIGN, REALLOC, FREE, KINDS, KNOWN };
static const char *const names[] = { "malloc", "calloc", "memalign", "realloc", "free" };
static size_t most[KINDS], most_size[KINDS];

/* Takes as much as is known. */
static __attribute__((noinline)) void known(void)
{
	char frame[KNOWN_BYTES], *lowest = frame;

	OPAQUE(lowest);
	*lowest = 1;
	OPAQUE(lowest);
}

static void call(enum kind kind, size_t i, size_t size)
{
	void *block = NULL;

	switch (kind) {
	case MALLOC:
		block = malloc(size);
		break;
	case CALLOC:
		block = calloc(1, size);
		break;
	case MEMALIGN:
		block = memalign((size_t)16 << size % 10, size);
		break;
	case REALLOC:
		block = realloc(blocks[i], size);
		break;
	case FREE:
		free(blocks[i]);
		break;
	default:
		known();
	}
	blocks[i] = block;
}

/* Bytes below this frame that the call wrote to, its own frame and the one of call() among them. */
static __attribute__((noinline)) size_t measure(enum kind kind, size_t i, size_t size)
{
	char *here = __builtin_frame_address(0);
	volatile uint64_t *from = (volatile uint64_t *)(void *)(here - DEPTH);
	volatile uint64_t *end = (volatile uint64_t *)(void *)(here - 256), *at;

	for (at = from; at < end; at++)
		*at = PAINT;
	call(kind, i, size);
	for (at = from; at < end && *at == PAINT; at++)
		;
	return (size_t)(here - (char *)(uintptr_t)at);
}

static atomic_bool done;
static _Thread_local volatile int own_data; /* libc's table of a thread is bigger with each module that has some */

static void *measured(void *arg)
{
	struct rng rng = { *(uint64_t *)arg };
	size_t own = measure(KNOWN, BLOCKS, 0) - KNOWN_BYTES; /* the frames of the measuring, and a return address */

	CHECK(own < 400);
	own_data++;
	/* the dynamic linker's own frames at the first call of each */
	for (int kind = 0; kind < KINDS; kind++) {
		call((enum kind)kind, 0, 1);
		if (kind < REALLOC)
			call(FREE, 0, 0);
	}
	for (size_t step = 0; step < test_scaled(30000); step++) {
		size_t i = rng_below(&rng, BLOCKS), size = rng_size(&rng, step % 50 ? 14 : 22), used;
		enum kind kind = (enum kind)rng_below(&rng, REALLOC);

		if (blocks[i] != NULL)
			kind = step % 4 ? FREE : REALLOC;
		used = measure(kind, i, size) - own;
		if (used > most[kind]) {
			most[kind] = used;
			most_size[kind] = size;
		}
		if (step % 5000 == 4999)
			malloc_trim(0);
	}
	for (size_t i = 0; i < BLOCKS; i++)
		call(FREE, i, 0);
	done = true;
	return NULL;
}

/* From one CPU to another that it may be on, until it is done. */
static void *move(void *thread)
{
	cpu_set_t may, one;

	CHECK(!sched_getaffinity(0, sizeof(may), &may));
	for (size_t cpu = 0; !done; cpu = (cpu + 1) % CPU_SETSIZE) {
		if (!CPU_ISSET(cpu, &may))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		(void)pthread_setaffinity_np(*(pthread_t *)thread, sizeof(one), &one); /* it may just have ended */
		usleep(500);
	}
	return NULL;
}

static __attribute__((noinline)) void frames(struct rng *rng, char *own, size_t n)
{
	void *some[40];

	memset(own, 1, n);
	for (size_t i = 0; i < 40; i++)
		CHECK(some[i] = malloc(rng_size(rng, i % 10 ? 14 : 21)));
	for (size_t i = 0; i < 40; i++)
		free(some[i]);
	OPAQUE(own);
}

static void *smallest(void *arg)
{
	struct rng rng = { (uint64_t)(uintptr_t)arg };
	char own[OWN];

	for (int round = 0; round < 20; round++)
		frames(&rng, own, sizeof(own));
	return NULL;
}

static void test_smallest(void)
{
	size_t least = (size_t)sysconf(_SC_THREAD_STACK_MIN), needed = OWN + AROUND + MOST;
	pthread_attr_t attr;

	CHECK(!pthread_attr_init(&attr));
	CHECK(!pthread_attr_setstacksize(&attr, least > needed ? least : needed));
	for (uintptr_t i = 1; i <= 16; i++) {
		pthread_t ids[4];

		for (uintptr_t k = 0; k < 4; k++)
			CHECK(!pthread_create(&ids[k], &attr, smallest, (void *)(i * 4 + k)));
		for (int k = 0; k < 4; k++)
			CHECK(!pthread_join(ids[k], NULL));
	}
	pthread_attr_destroy(&attr);
}

#ifndef DRY_DEBUG
/* The same in a process with this profile and such a limit. */
static void again(uint64_t seed, const char *conf, int limited)
{
	struct rlimit limit = { (size_t)300 << 20, RLIM_INFINITY };
	char number[24];
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		snprintf(number, sizeof(number), "%llu", (unsigned long long)seed);
		setenv("DRYSTONE_CONF", conf, 1);
		CHECK(!limited || (!setrlimit(RLIMIT_AS, &limit) && !setrlimit(RLIMIT_DATA, &limit)));
		execl("/proc/self/exe", "small_stack", number, "once", (char *)NULL);
		_exit(9);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	if (status != 0)
		fprintf(stderr, "DRYSTONE_CONF=%s, %s: status %#x\n", conf, limited ? "limited" : "not limited", (unsigned)status);
	CHECK(status == 0);
}

static void each_profile(uint64_t seed)
{
	static const char *const confs[] = { "abort:1", "check:1", "secure:1", "guard:1,guard_rate:3", "profile:2000" };

	for (size_t i = 0; i < sizeof(confs) / sizeof(confs[0]); i++)
		for (int limited = 0; limited < 2; limited++)
			again(seed + i, confs[i], limited);
}
#endif

int main(int argc, char **argv)
{
	uint64_t seed = test_seed(argc, argv);
	pthread_attr_t attr;
	pthread_t id, mover;
	int good = 1;
	CHECK(stack = aligned_alloc(4096, STACK));
	CHECK(!pthread_attr_init(&attr));
	CHECK(!pthread_attr_setstack(&attr, stack, STACK));
	CHECK(!pthread_create(&id, &attr, measured, &seed));
	CHECK(!pthread_create(&mover, NULL, move, &id));
	CHECK(!pthread_join(id, NULL));
	CHECK(!pthread_join(mover, NULL));
	pthread_attr_destroy(&attr);
	for (int kind = 0; kind < KINDS; kind++) {
		int fine = most[kind] > 0 && most[kind] <= MOST;

		fprintf(fine ? stdout : stderr, "%s: %zu bytes of stack, size %zu\n", names[kind], most[kind], most_size[kind]);
		good &= fine;
	}
	test_smallest();
	CHECK(good);
#ifndef DRY_DEBUG
	if (argc < 3)
		each_profile(seed);
#endif
	return 0;
}
