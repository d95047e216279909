/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * fork() in a signal handler, at each instruction of malloc(), free(), realloc() and malloc_trim(): a tracer steps through the
 * calls and sends the signal. The parent goes on in the middle of the call, so does the child. A restartable sequence begins
 * anew when it is stepped through (or gives up): there it is interrupted once, and passed in one go (rseq.sequences interrupts
 * them at each instruction); without them (.norseq) all of a call is stepped through.
 * Alone, and beside a thread at rest. Then it is another thread that forks, while the call is stopped at one instruction after
 * another: where the call has a lock the fork waits for it, and no child finds one taken. In a call of very many instructions the
 * steps grow with their number; with a second argument they do not (minutes).
 * DRY_TEST_NO_POSIX: it is the same there, and takes its time.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/one_cpu.h"

#ifdef __x86_64__

#define PATIENCE 20  /* seconds until what does not move counts as hung */
#define EACH	 30 /* forks in a call until the steps grow */
#define EACH_BESIDE 3 /* of another thread's */
#define SOON_NS	 2000000

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned __rseq_size __attribute__((weak));

struct sequence {
	uint32_t version, flags;
	uint64_t start, length;
};

/* ---- who is stepped through ----------------------------------------------------------- */

static void *block, *more[64];

#define STOP() __asm__ volatile("int3" : : : "memory")

/* Blocks of each class up to 8,000 bytes, most of them small: in each of thousands of children fresh pages are what takes time. */
static void use(void)
{
	for (size_t i = 0; i < 64; i++) {
		more[i] = malloc(i * i * 2);
		CHECK(more[i] != NULL);
		memset(more[i], 1, i * i * 2);
	}
	for (size_t i = 0; i < 64; i++)
		free(more[i]);
}

static void fork_now(int signal)
{
	int status;
	pid_t pid = fork();

	(void)signal;
	if (pid == 0) {
		alarm(PATIENCE);
		return;
	}
	CHECK(pid > 0);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
	STOP();
}

/* Of a child that has got to the end of the call. */
static void end(int signal)
{
	(void)signal;
	use();
	_exit(0);
}

static void take(size_t size)
{
	block = malloc(size);
}

static void give(size_t size)
{
	(void)size;
	free(block);
	block = NULL;
}

static void change(size_t size)
{
	void *changed = realloc(block, size);

	block = changed != NULL ? changed : block;
}

static void take_many(size_t size)
{
	for (size_t i = 0; i < 40; i++)
		more[i] = malloc(size);
}

static void give_many(size_t size)
{
	(void)size;
	for (size_t i = 0; i < 40; i++)
		free(more[i]);
}

/* musl has none: there with one thread free() gives big blocks back. */
extern int malloc_trim(size_t left) __attribute__((weak));

static void trim(size_t left)
{
	if (malloc_trim != NULL)
		malloc_trim(left);
}

static const struct call {
	const char *name;
	void (*fn)(size_t size);
	size_t size;
} calls[] = {
	{ "malloc, the first of its size", take, 100 }, { "free", give, 0 },
	{ "malloc", take, 100 }, { "realloc", change, 3000 },
	{ "free", give, 0 }, { "malloc, big", take, 5000000 },
	{ "realloc, big", change, 9000000 }, { "free, big", give, 0 },
	{ "malloc_trim", trim, 0 }, { "malloc, 40 blocks", take_many, 2000 }, /* out of slabs, as arrays are empty */
	{ "free, 40 blocks", give_many, 0 }, { "malloc, a run of pages", take, 300000 },
	{ "free, a run of pages", give, 0 },
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

static void *rest(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* Shared by the tracer and who forks for it. */
static struct turn {
	sem_t asked, over;
	_Atomic unsigned long forks;
	_Atomic int status; /* of a child that failed */
} *turn;

/* The tracer's trap in the code, and what is there without it; 0: none. Each has its own: a fork copies it as it is then. */
static uint64_t trap, was;

/* One that the fork copied is nobody's. */
static void take_trap(void)
{
	size_t page = (size_t)getpagesize();

	if (trap == 0)
		return;
	CHECK(mprotect((void *)(trap - trap % page), page, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
	*(unsigned char *)trap = (unsigned char)was;
}

/* It takes each lock that a call takes: of those sizes so many that no array holds them, and of others for the first time. */
static void use_all(void)
{
	static void *many[600];

	use();
	for (size_t i = 0; i < CALLS; i++) {
		size_t size = calls[i].size;

		calls[i].fn(size);
		for (size_t j = 0; j < 600 && size != 0 && size < 10000; j++)
			many[j] = malloc(size);
		for (size_t j = 0; j < 600; j++) {
			free(many[j]);
			many[j] = NULL;
		}
	}
	for (size_t size = 8192; size <= 32768; size += 1024)
		free(malloc(size));
}

static void *fork_beside(void *arg)
{
	for (;;) {
		int status;

		while (sem_wait(&turn->asked) != 0)
			;
		pid_t pid = fork();
		if (pid == 0) {
			take_trap();
			alarm(PATIENCE);
			use_all();
			_exit(0);
		}
		CHECK(pid > 0);
		atomic_fetch_add(&turn->forks, 1);
		CHECK(waitpid(pid, &status, 0) == pid);
		if (status != 0)
			atomic_store(&turn->status, status);
		sem_post(&turn->over);
	}
	return arg;
}

static void traced(void *(*beside)(void *arg))
{
	pthread_t id;

	CHECK(signal(SIGUSR1, fork_now) != SIG_ERR && signal(SIGTRAP, end) != SIG_ERR);
	if (beside != NULL) {
		CHECK(pthread_create(&id, NULL, beside, NULL) == 0);
		CHECK(pthread_detach(id) == 0);
	}
	CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
	for (size_t i = 0; i < CALLS; i++) {
		STOP();
		calls[i].fn(calls[i].size);
		STOP();
	}
	use();
	_exit(0);
}

/* ---- who steps ------------------------------------------------------------------------ */

static pid_t child;
static uint64_t aborted; /* the end of a sequence that was; 0: none */

static void go_on(int how, int signal)
{
	CHECK(ptrace(how, child, NULL, (void *)(uintptr_t)signal) == 0);
}

/* To the next stop, at a trap; signals that are not ours go to the child. false: it has ended, well. */
static int stopped(int how)
{
	int status;

	for (;;) {
		CHECK(waitpid(child, &status, 0) == child);
		if (!WIFSTOPPED(status))
			break;
		if (WSTOPSIG(status) == SIGTRAP)
			return 1;
		go_on(how, WSTOPSIG(status));
	}
	CHECK_EQ(status, 0);
	return 0;
}

static struct user_regs_struct registers(void)
{
	struct user_regs_struct now;

	CHECK(ptrace(PTRACE_GETREGS, child, NULL, &now) == 0);
	return now;
}

static uint64_t word(uint64_t at)
{
	errno = 0;
	uint64_t value = (uint64_t)ptrace(PTRACE_PEEKTEXT, child, (void *)at, NULL);
	CHECK_EQ(errno, 0);
	return value;
}

static void put_word(uint64_t at, uint64_t value)
{
	CHECK(ptrace(PTRACE_POKETEXT, child, (void *)at, (void *)value) == 0);
}

/* The end of the restartable sequence that the child is in; 0: in none. */
static uint64_t sequence_end(const struct user_regs_struct *now)
{
	uint64_t at;

	if (&__rseq_size == NULL || __rseq_size == 0)
		return 0;
	at = word(now->fs_base + (uint64_t)__rseq_offset + 8);
	if (at == 0)
		return 0;
	uint64_t start = word(at + offsetof(struct sequence, start)), length = word(at + offsetof(struct sequence, length));
	return now->rip - start < length ? start + length : 0;
}

/*
 * One instruction. In a sequence the kernel goes on at what is to be done on an abort; from there the child runs until the
 * sequence has got to its end, or the whole call has, if what the sequence wants is not there.
 */
static void step(const struct user_regs_struct *from)
{
	struct user_regs_struct now;
	uint64_t end = aborted;

	if (end == 0) {
		aborted = sequence_end(from);
		go_on(PTRACE_SINGLESTEP, 0);
		CHECK(stopped(PTRACE_SINGLESTEP));
		return;
	}
	uint64_t there = word(end);

	put_word((uint64_t)&was, there);
	put_word((uint64_t)&trap, end);
	put_word(end, (there & ~UINT64_C(0xff)) | 0xcc);
	go_on(PTRACE_CONT, 0);
	CHECK(stopped(PTRACE_CONT));
	put_word(end, there);
	put_word((uint64_t)&trap, 0);
	now = registers();
	now.rip--;
	CHECK(ptrace(PTRACE_SETREGS, child, NULL, &now) == 0);
	aborted = 0;
}

/* The handler runs, and forks; then back to where it came. */
static void interrupt(void)
{
	struct user_regs_struct now = registers();
	uint64_t end = sequence_end(&now);

	aborted = end != 0 ? end : aborted;
	go_on(PTRACE_CONT, SIGUSR1);
	CHECK(stopped(PTRACE_CONT)); /* by the handler */
	do {
		go_on(PTRACE_SINGLESTEP, 0);
		CHECK(stopped(PTRACE_SINGLESTEP));
	} while (registers().rsp < now.rsp);
}

/* The call is over: here is the same code. */
static int is_over(const struct user_regs_struct *now)
{
	return *(const unsigned char *)(uintptr_t)now->rip == 0xcc;
}

static unsigned long waits; /* for what the call has */

/* The other thread forks; the call goes on as long as that waits. */
static void have_forked(void)
{
	unsigned long before = atomic_load(&turn->forks);
	struct user_regs_struct now = registers();
	struct timespec soon;

	CHECK(clock_gettime(CLOCK_REALTIME, &soon) == 0);
	soon.tv_nsec += SOON_NS;
	soon.tv_sec += soon.tv_nsec / 1000000000;
	soon.tv_nsec %= 1000000000;
	sem_post(&turn->asked);
	if (sem_timedwait(&turn->over, &soon) != 0) {
		waits += atomic_load(&turn->forks) == before;
		for (; atomic_load(&turn->forks) == before && !is_over(&now); now = registers())
			step(&now);
		while (sem_wait(&turn->over) != 0)
			;
	}
	CHECK_EQ(turn->status, 0);
}

static void step_through(const struct call *call, int every, int beside)
{
	unsigned long steps = 0, forks = 0, next = 0;
	struct user_regs_struct now;

	alarm(PATIENCE * 2);
	for (; now = registers(), !is_over(&now); steps++) {
		if (steps >= next) {
			alarm(PATIENCE * 2);
			if (beside)
				have_forked();
			else
				interrupt();
			forks++;
			next = steps + 1 + (every ? 0 : forks / (beside ? EACH_BESIDE : EACH));
			now = registers();
			if (is_over(&now))
				break;
		}
		step(&now);
	}
	printf("%s: %lu steps, %lu forks\n", call->name, steps, forks);
	fflush(stdout);
	CHECK(forks > 5 || beside || (call->fn == trim && malloc_trim == NULL));
}

static void run(void *(*beside)(void *arg), int every)
{
	child = fork();
	CHECK(child >= 0);
	if (child == 0)
		traced(beside);
	for (size_t i = 0; i < CALLS; i++) {
		CHECK(stopped(PTRACE_CONT));
		if (i == 0) {
			CHECK(ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)PTRACE_O_EXITKILL) == 0);
			one_cpu_begin(child);
		}
		step_through(&calls[i], every, beside == fork_beside);
		go_on(PTRACE_CONT, 0);
		CHECK(stopped(PTRACE_CONT)); /* after the call */
		go_on(PTRACE_CONT, 0);
	}
	CHECK(!stopped(PTRACE_CONT));
	one_cpu_end();
}

int main(int argc, char **argv)
{
	(void)argv;
	turn = mmap(NULL, sizeof(*turn), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(turn != MAP_FAILED && sem_init(&turn->asked, 1, 0) == 0 && sem_init(&turn->over, 1, 0) == 0);
	run(NULL, argc > 2);
	run(rest, argc > 2);
	run(fork_beside, argc > 2);
	printf("%lu forks waited\n", waits);
	CHECK(waits > 0);
	return 0;
}

#else

int main(void)
{
	printf("written for x86-64: skipped\n");
	return 77;
}

#endif
