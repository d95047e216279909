/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * fork() in a signal handler that interrupted malloc() or free(): it returns, the parent goes on, and so does the child,
 * in the middle of the same call. The signals come after each so many instructions (x86-64, without
 * restartable sequences, which a signal begins anew each time), else by a timer. Alone, and beside a thread at rest.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "../support/check.h"
#include "../support/random.h"

#define TRAP_FLAG 0x100
#define BLOCKS	  200
#define FORKS	  20 /* of each kind */
#define PATIENCE  60

extern const unsigned __rseq_size __attribute__((weak));

static volatile unsigned long steps, stride, next_fork;
static volatile unsigned forks, armed; /* done, and signals that were sent for */
static volatile sig_atomic_t in_child, working;
static void *blocks[BLOCKS];

static void fork_now(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		in_child = 1;
		alarm(PATIENCE);
		return;
	}
	CHECK(pid > 0);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
	forks++;
}

#ifdef __x86_64__
static void trap(int signal, siginfo_t *info, void *context)
{
	ucontext_t *at = context;

	(void)signal;
	(void)info;
	if (++steps < next_fork || !working)
		return;
	next_fork = steps + stride;
	fork_now();
	if (in_child)
		at->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

static void set_trap(void)
{
	__asm__ volatile("sub $128, %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tadd $128, %%rsp" : : : "memory", "cc");
}

static void clear_trap(void)
{
	__asm__ volatile("sub $128, %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\tadd $128, %%rsp" : : : "memory", "cc");
}
static const int can_step = 1;
#else
static void trap(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	(void)context;
}
static void set_trap(void)
{
}
static void clear_trap(void)
{
}
static const int can_step;
#endif

static void tick(int signal)
{
	(void)signal;
	if (working)
		fork_now();
	else
		armed--;
}

static void child_ends(void)
{
	for (size_t i = 0; i < BLOCKS; i += 5) {
		free(blocks[i]);
		blocks[i] = malloc(i * 40);
		CHECK(blocks[i]);
		memset(blocks[i], 1, i * 40);
	}
	_exit(0);
}

static void call(void (*fn)(size_t i, size_t size), size_t i, size_t size, int step)
{
	working = 1;
	if (step && !in_child)
		set_trap();
	fn(i, size);
	if (step)
		clear_trap();
	working = 0;
	if (in_child)
		child_ends();
}

static void take(size_t i, size_t size)
{
	blocks[i] = malloc(size);
}

static void give(size_t i, size_t size)
{
	(void)size;
	free(blocks[i]);
	blocks[i] = NULL;
}

static void resize(size_t i, size_t size)
{
	void *block = realloc(blocks[i], size);

	if (block != NULL)
		blocks[i] = block;
}

static void go(int step, unsigned long every)
{
	struct rng rng = { every };

	stride = every;
	next_fork = steps + every;
	forks = armed = 0;
	for (unsigned round = 0; forks < FORKS; round++) {
		struct itimerval once = { { 0, 0 }, { 0, 20 + (suseconds_t)rng_below(&rng, 500) } };
		size_t i = rng_below(&rng, BLOCKS);

		/* one at a time: else the next would be there when the handler returns */
		if (!step && forks == armed) {
			CHECK(!setitimer(ITIMER_REAL, &once, NULL));
			armed++;
		}

		if (blocks[i] == NULL)
			call(take, i, rng_size(&rng, round % 64 ? 13 : 21), step);
		else
			call(round % 4 ? give : resize, i, rng_size(&rng, 14), step);
	}
}

static void *rests(void *arg)
{
	sigset_t all;

	(void)arg;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	for (;;)
		pause();
	return NULL;
}

int main(void)
{
	int step = can_step && (&__rseq_size == NULL || __rseq_size == 0);
	struct sigaction action;
	pthread_t id;
	sigset_t mask, before;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = trap;
	action.sa_flags = SA_SIGINFO;
	CHECK(!sigaction(SIGTRAP, &action, NULL));
	action.sa_flags = SA_RESTART;
	action.sa_handler = tick;
	CHECK(!sigaction(SIGALRM, &action, NULL));
	go(step, 1009);
	go(step, 97);
	sigfillset(&mask);
	pthread_sigmask(SIG_SETMASK, &mask, &before);
	CHECK(!pthread_create(&id, NULL, rests, NULL));
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	go(step, 1013);
	go(step, 101);
	printf("%s, %lu steps\n", step ? "stepped" : "by a timer", steps);
	return 0;
}
