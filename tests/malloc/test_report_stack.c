/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Reports take at most 2.25 KiB of stack: the first one of a process and later ones, in each profile, on a painted stack. On a
 * small alternative stack with a page that faults below, what the kernel puts there and 3 KiB, one ends the process by SIGABRT.
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/profiles.h"

#define STACK ((size_t)256 << 10)
#define DEPTH ((size_t)16 << 10) /* painted */
#ifdef DRY_DEBUG
#define MOST 4096
#define ROOM 5120
#else
#define MOST 2304
#define ROOM 3072
#endif
#define PAINT UINT64_C(0x5bd1e995a7c3f00d)

enum { SMALL, BIG, RUN, INSIDE, KINDS };
static const size_t sizes[KINDS] = { 200, 200000, 50000, 200 };

static char *stack;

/* A double free, or a free of an inner pointer. */
static __attribute__((noinline)) void make_error(int kind)
{
	char *block = malloc(sizes[kind]), *again = block + (kind == INSIDE ? 16 : 0);

	OPAQUE(again);
	if (kind != INSIDE)
		free(block);
	free(again);
}

static size_t measure(int kind)
{
	uint64_t *here = __builtin_frame_address(0), *lowest = (uint64_t *)(void *)((char *)here - DEPTH), *at = lowest;
	volatile uint64_t *paint = lowest;

	for (; paint < here - 32; paint++)
		*paint = PAINT;
	make_error(kind);
	while (at < here && *(volatile uint64_t *)at == PAINT)
		at++;
	return (size_t)((char *)here - (char *)at);
}

static void *painted(void *arg)
{
	for (int turn = 0; turn < 2; turn++) {
		size_t most = measure(*(int *)arg);

		if (most > MOST)
			fprintf(stderr, "%d, %s, report %d: %zu bytes\n", *(int *)arg, getenv("DRYSTONE_CONF"), turn, most);
		CHECK(most <= MOST);
	}
	return NULL;
}

static void on_painted(int kind)
{
	pthread_attr_t attr;
	pthread_t thread;

	stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(stack != MAP_FAILED);
	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setstack(&attr, stack, STACK), 0);
	CHECK_EQ(pthread_create(&thread, &attr, painted, &kind), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
}

static int handled;

static void handler(int signal)
{
	(void)signal;
	make_error(handled);
}

static void on_alternative(int kind)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), frame = getauxval(AT_MINSIGSTKSZ);
	size_t size = (frame != 0 ? frame : MINSIGSTKSZ) + ROOM, whole = (size + page - 1) / page * page;
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	char *low = mmap(NULL, page + whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t alternative = { .ss_sp = low + page, .ss_size = size };

	CHECK(low != MAP_FAILED);
	CHECK_EQ(mprotect(low, page, PROT_NONE), 0);
	CHECK_EQ(sigaltstack(&alternative, NULL), 0);
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	handled = kind;
	raise(SIGUSR1);
}

int main(int argc, char **argv)
{
	static const char *const confs[] = { "check:1", "exit_check:1", "secure:1", "guard:1", "debug:FZPUQ" };
	struct rlimit none = { 0, 0 };
	char conf[64], word[16];
	int null;

	setrlimit(RLIMIT_CORE, &none);
	if (argc > 2) {
		null = open("/dev/null", O_WRONLY);
		dup2(null, argv[2][0] == 'p' ? 9 : 2);
		(argv[2][0] == 'p' ? on_painted : on_alternative)(atoi(argv[1]));
		return 0;
	}
	setenv("LD_BIND_NOW", "1", 1); /* the dynamic linker's looking for calls takes stack, too */
	for (size_t i = 0; i < sizeof(confs) / sizeof(confs[0]) * KINDS * 2; i++) {
		int kind = (int)(i / 2 % KINDS), alternative = (int)(i % 2);
		const char *profile = confs[i / 2 / KINDS];
		/* Only what each profile is sure to notice. */
		if (alternative && strcmp(profile, "exit_check:1") == 0)
			continue;
		snprintf(conf, sizeof(conf), "%s%s", profile, alternative ? "" : ",abort:0");
		snprintf(word, sizeof(word), "%d", kind);
		int status = test_again(conf, word, alternative ? "a" : "p");
		if (status != (alternative ? SIGABRT : 0))
			fprintf(stderr, "%d, %s: status %#x\n", kind, conf, (unsigned)status);
		if (alternative)
			CHECK_EQ(WIFSIGNALED(status) ? WTERMSIG(status) : 0, SIGABRT);
		else
			CHECK_EQ(status, 0);
	}
	return 0;
}
