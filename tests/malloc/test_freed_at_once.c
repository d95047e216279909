/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Two threads free one block at the same time, or one frees it while another changes its size, at (some) instructions of the
 * slower one: check:1 and secure:1 stop the program, and never hand the block out twice. Between two instructions of check:1 both
 * frees may pass, which it finds out when the block is handed out. Single-stepped: on x86-64.
 * DRY_TEST_NO_POSIX: it is the library's code, and its steps are many.
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/profiles.h"

#ifdef __x86_64__

#define PLACES 20 /* of a case; of a long one some less */
#define LONG   2000
#define STEP   0x100L
#define TWICE  42
#define PASSED 43 /* it was through before */
#define ASLEEP 50 /* times that it is seen to sleep, a millisecond apart, are for good */

static void *volatile block, *volatile other_block;
static size_t size, resized; /* resized: what realloc() asks for; 0: free() */
static unsigned at;
static volatile unsigned *steps; /* of the call, shared with the parent */
static sem_t go, done;
static volatile pid_t other_id;

/* Whether the other thread sleeps, which it does in a lock: one that is only waiting for a processor does not. */
static bool sleeps(void)
{
	char path[64], text[128];
	const char *end;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)other_id);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	end = strrchr(text, ')');
	return end != NULL && end[1] == ' ' && end[2] == 'S';
}

static void trap(int signal, siginfo_t *info, void *context)
{
	unsigned asleep = 0;

	(void)signal, (void)info;
	if (++*steps != at)
		return;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~STEP;
	sem_post(&go);
	while (sem_trywait(&done) != 0 && asleep < ASLEEP) { /* it may wait for a lock that was just taken here */
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		asleep += sleeps();
	}
}

static void *other(void *unused)
{
	(void)unused;
	other_id = (pid_t)syscall(SYS_gettid);
	sem_wait(&go);
	free(block);
	free(other_block); /* what was freed last may wait in a place of its own */
	sem_post(&done);
	return NULL;
}

static __attribute__((noinline)) void *stepped(void)
{
	void *result = NULL;

	__asm__ volatile("pushfq\n orq $0x100, (%%rsp)\n popfq" ::: "memory", "cc");
	if (resized != 0)
		result = realloc(block, resized);
	else
		free(block);
	__asm__ volatile("pushfq\n andq $~0x100, (%%rsp)\n popfq" ::: "memory", "cc");
	return result;
}

static bool overlap(const char *one, const char *two)
{
	return one < two + size && two < one + size;
}

static int child(void)
{
	static char *got[400];
	struct sigaction action = { .sa_sigaction = trap, .sa_flags = SA_SIGINFO };
	pthread_t id;
	void *kept;

	CHECK(freopen("/dev/null", "w", stderr) != NULL);
	sigaction(SIGTRAP, &action, NULL);
	sem_init(&go, 0, 0);
	sem_init(&done, 0, 0);
	CHECK((block = malloc(size)) && (other_block = malloc(size)));
	CHECK(pthread_create(&id, NULL, other, NULL) == 0);
	*steps = 0;
	kept = stepped();
	if (*steps < at)
		return PASSED;
	pthread_join(id, NULL);
	if (resized == size) /* else what was cut off the block is looked at as it is */
		free(kept);
	for (size_t i = 0; i < 400; i++) {
		got[i] = malloc(size);
		for (size_t j = 0; j < i; j++)
			if (overlap(got[i], got[j]))
				return TWICE;
	}
	return 0;
}

/* Its exit status, or minus the signal that ended it. */
static int run(unsigned place)
{
	int status;
	pid_t pid;

	at = place;
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		_exit(child());
	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void look(size_t bytes, size_t to)
{
	unsigned all, places = 0, passed = 0;

	size = bytes;
	resized = to;
	for (int i = 0; i < 1000; i++) /* not one of the first */
		free(malloc(i % 2 ? bytes : 100));
	CHECK_EQ(run(UINT32_MAX), PASSED);
	all = *steps;
	for (unsigned place = 1; place < all; place += 1 + all / (all > LONG ? PLACES / 3 : PLACES), places++) {
		int end = run(place);
		/* how many steps there are may differ a little; what is copied may be unmapped meanwhile */
		bool stopped = end == -SIGABRT || end == PASSED || (to != 0 && end == -SIGSEGV);
		passed += !stopped;
		if (!stopped)
			printf("%zu bytes to %zu, step %u of %u: ended by %d\n", bytes, to, place, all, end);
		fflush(stdout);
		CHECK(stopped || end == 0);
	}
	CHECK(places >= PLACES / 4 && passed <= 1);
}

int main(int argc, char **argv)
{
	static const char *const profiles[] = { "check:1", "secure:1" };
	static const size_t sizes[] = { 16, 1016, 40000 };

	(void)argv;
	steps = mmap(NULL, sizeof(*steps), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(steps != MAP_FAILED);
	setenv("LD_BIND_NOW", "1", 1); /* looking for calls is many steps */
	for (size_t i = 0; argc == 1 && i < sizeof(profiles) / sizeof(profiles[0]); i++)
		CHECK_EQ(test_again(profiles[i], "look", NULL), 0);
	for (size_t i = 0; argc > 1 && i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		look(sizes[i], 0);
		look(sizes[i], sizes[i]);
	}
	if (argc > 1) {
		look(66000, 33000); /* fewer pages, then more */
		look(33000, 50000);
	}
	return 0;
}

#else

int main(void)
{
	printf("not on this processor: skipped\n");
	return 77;
}

#endif
