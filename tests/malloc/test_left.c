/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A process whose first thread leaves by pthread_exit() ends with status 0 when its other threads have, whatever threads of the
 * library's own are still there: the one that returns memory, those of metrics. What runs at exit has a whole stack and no signal
 * blocked. Not before: a thread that goes on is not left behind. The program starts itself again with each.
 * DRY_TEST_NO_NORSEQ: threads that end are no matter of slots.
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/check.h"

#define SIZE    400
#define COUNT   60000 /* 24 MB: a heap for which there is a helper */
#define WORKERS 2
#define LAST    3  /* s that the last one goes on: some looks */
#define LONGEST 60 /* s */
#ifdef __GLIBC__
#define ROOM ((size_t)512 << 10) /* more than a helper has */
#else
#define ROOM ((size_t)64 << 10) /* musl's threads have 128 KiB */
#endif

static time_t began;
static unsigned ended;

static void at_exit(void)
{
	volatile char room[ROOM];
	sigset_t blocked;

	for (size_t i = 0; i < sizeof(room); i += 4096)
		room[i] = 1;
	CHECK(pthread_sigmask(SIG_SETMASK, NULL, &blocked) == 0 && sigismember(&blocked, SIGTERM) == 0);
	CHECK_EQ(__atomic_load_n(&ended, __ATOMIC_RELAXED), WORKERS);
	CHECK(time(NULL) - began >= LAST - 1);
	CHECK(write(1, "!", 1) == 1);
}

static void *work(void *last)
{
	for (size_t i = 0; i < COUNT; i++) {
		char *block = malloc(SIZE);

		CHECK(block != NULL);
		memset(block, 1, SIZE);
		if (i % 4 == 0)
			free(block);
	}
	if (last != NULL)
		sleep(LAST);
	__atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void leave(void)
{
	pthread_t thread;

	began = time(NULL);
	CHECK(atexit(at_exit) == 0);
	for (size_t i = 0; i < WORKERS; i++)
		CHECK(pthread_create(&thread, NULL, work, i == 0 ? &began : NULL) == 0);
	pthread_exit(NULL);
}

static struct {
	const char *conf;
	pid_t pid;
	int said; /* a pipe */
} runs[] = {
	{ .conf = "background:1" },
	{ .conf = "secure:1" },
	{ .conf = "background:0,metrics:/dev/null" },
	{ .conf = "metrics:unix:/tmp/drystone-left-%p" },
};

static void start(size_t i)
{
	int pipes[2];

	CHECK(pipe2(pipes, O_CLOEXEC) == 0);
	runs[i].said = pipes[0];
	runs[i].pid = fork();
	CHECK(runs[i].pid >= 0);
	if (runs[i].pid == 0) {
		dup2(pipes[1], 1);
		setenv("DRYSTONE_CONF", runs[i].conf, 1);
		execl("/proc/self/exe", "left", "leave", (char *)NULL);
		_exit(127);
	}
	close(pipes[1]);
}

static bool ends(pid_t pid, int *status)
{
	for (int n = 0; n < LONGEST * 10; n++) {
		if (waitpid(pid, status, WNOHANG) == pid)
			return true;
		usleep(100000);
	}
	kill(pid, SIGKILL);
	return false;
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		leave();
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++)
		start(i);
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		char said = 0;
		int status = 0;
		bool ended_itself = ends(runs[i].pid, &status);

		printf("%s: %s, status %x\n", runs[i].conf, ended_itself ? "ended" : "had to be killed", (unsigned)status);
		fflush(stdout);
		CHECK(ended_itself);
		CHECK_EQ(status, 0);
		CHECK(read(runs[i].said, &said, 1) == 1 && said == '!');
	}
	return 0;
}
