/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Programs with filters on system calls, as sshd, browsers and services have them: the filter kills, or it refuses, what
 * its list lacks. It comes before the program, or while it runs, for one thread or for all. The program allocates
 * in threads, trims, and ends with its own status.
 * DRY_TEST_NO_POSIX: that port knows no filters.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/glibc.h"
#include "../support/seccomp.h"

#define STATUS 7
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const int least[] = { LEAST, THREADS };
/* OpenSSH's child before authentication: no thread can be started, no file opened. */
static const int sshd[] = {
	LEAST, SYS_clock_gettime, SYS_clock_nanosleep, SYS_close, SYS_geteuid, SYS_getpgid, SYS_getpid, SYS_gettid,
	SYS_getuid, SYS_gettimeofday, SYS_nanosleep, SYS_ppoll, SYS_pselect6, SYS_read, SYS_rt_sigprocmask, SYS_shutdown,
};
/* A browser's renderer. */
static const int renderer[] = {
	LEAST, THREADS, SYS_clock_gettime, SYS_clock_nanosleep, SYS_close, SYS_dup, SYS_epoll_ctl, SYS_epoll_pwait,
	SYS_fcntl, SYS_fstat, SYS_getpid, SYS_gettid, SYS_read, SYS_readv, SYS_recvmsg, SYS_sendmsg, SYS_sched_yield,
	SYS_tgkill, SYS_prctl,
};
/* Before the program: what the dynamic linker needs, too. */
static const int loader[] = { LEAST, THREADS, LOADER };
/* Of systemd's @system-service what such a program may meet. */
static const int service[] = {
	LEAST, THREADS, LOADER, SYS_prctl, SYS_membarrier, SYS_sched_yield, SYS_nanosleep, SYS_clock_gettime,
	SYS_clock_nanosleep, SYS_sched_getaffinity, SYS_getpid, SYS_gettid, SYS_get_mempolicy, SYS_getcpu, SYS_dup,
	SYS_lseek,
};

static const struct filter {
	const char *name;
	const int *calls;
	size_t count;
	int early, late, clones;
} filters[] = {
	{ "least", least, COUNT(least), 0, 1, 1 },    { "sshd", sshd, COUNT(sshd), 0, 1, 0 },
	{ "renderer", renderer, COUNT(renderer), 0, 1, 1 }, { "loader", loader, COUNT(loader), 1, 0, 1 },
	{ "service", service, COUNT(service), 1, 1, 1 },
};

/* Enough that memory is returned, that batches go both ways, and that a helper thread would be started. */
static void work(void)
{
	enum { BIG = 30, SMALL = 3000 };
	char *big[BIG], *small[SMALL];

	for (size_t i = 0; i < BIG; i++) {
		CHECK(big[i] = malloc(i % 3 ? 700000 : 1500000));
		big[i][i] = 1;
	}
	for (size_t i = 0; i < BIG; i += 2)
		CHECK(big[i] = realloc(big[i], i % 3 ? 100000 : 3000000));
	for (size_t i = 0; i < SMALL; i++) {
		CHECK(small[i] = calloc(1, i * 7 % 3000 + 1));
		small[i][0] = 1;
	}
	for (size_t i = 0; i < BIG; i++)
		free(big[i]);
	malloc_trim(0);
	for (size_t i = 0; i < SMALL; i++)
		free(small[i]);
}

/* Without a system call: so long that a helper thread gets turns (decay_ms). */
static void work_for_ms(long ms)
{
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		work();
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < ms);
}

static pthread_barrier_t gate;

static void *thread(void *arg)
{
	work();
	if (arg != NULL) {
		pthread_barrier_wait(&gate);
		pthread_barrier_wait(&gate); /* the filter is there */
		work();
	}
	return NULL;
}

/* when: 'e', the filter is there already; 'l', one thread gets it; 'a', all get it. */
static void run(const struct filter *filter, int kills, int when)
{
	pthread_t ids[2], more;
	int n = when == 'a' ? 2 : 0;

	work();
	if (when != 'e') {
		CHECK(!pthread_barrier_init(&gate, NULL, (unsigned)n + 1));
		for (int i = 0; i < n; i++)
			CHECK(!pthread_create(&ids[i], NULL, thread, &gate));
		pthread_barrier_wait(&gate);
		seccomp_install(filter->calls, filter->count, kills, when == 'a');
		pthread_barrier_wait(&gate);
	}
	work();
	if (filter->clones) {
		CHECK(!pthread_create(&more, NULL, thread, NULL));
		CHECK(!pthread_join(more, NULL));
	}
	for (int i = 0; i < n && when != 'e'; i++)
		CHECK(!pthread_join(ids[i], NULL));
	work_for_ms(30);
	exit(STATUS);
}

static void expect(const struct filter *filter, int kills, int when, const char *conf)
{
	char name[32], how[8] = { (char)('0' + kills), (char)when, '\0' };
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		snprintf(name, sizeof(name), "%td", filter - filters);
		setenv("DRYSTONE_CONF", conf, 1);
		if (when == 'e')
			seccomp_install(filter->calls, filter->count, kills, 0);
		execl("/proc/self/exe", "filters", name, how, (char *)NULL);
		_exit(9);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != STATUS) {
		fprintf(stderr, "%s, %s, '%c', DRYSTONE_CONF=%s: status %#x\n", filter->name, kills ? "kills" : "refuses", when,
			conf, (unsigned)status);
		CHECK(0);
	}
}

int main(int argc, char **argv)
{
	/* the last one: the first guarded block comes when the filter is there, mostly */
	static const char *const confs[] = { "decay_ms:10", "check:1", "secure:1", "guard:1,guard_rate:20",
					     "guard:1,guard_rate:20000" };

	if (argc == 3)
		run(&filters[atoi(argv[1])], argv[2][0] == '1', argv[2][1]);
	for (size_t c = 0; c < COUNT(confs); c++)
		for (size_t i = 0; i < COUNT(filters); i++)
			for (int kills = 1; kills >= 0; kills--) {
				if (filters[i].early)
					expect(&filters[i], kills, 'e', confs[c]);
				if (filters[i].late) {
					expect(&filters[i], kills, 'l', confs[c]);
					expect(&filters[i], kills, 'a', confs[c]);
				}
			}
	return 0;
}
