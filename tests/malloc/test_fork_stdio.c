/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * fork() among threads that work with streams, allocate, and load libraries: whoever holds libc's lock of all streams or
 * of one may wait for memory, and fork() waits for the first. Children use the same things. Seconds: DRY_TEST_SCALE,
 * or the second argument.
 *
 * Over musl no thread ends beside a fork: its fork() takes the lock of dlerror() before that of all threads, its pthread_exit() the
 * other way round, and the two stop (1.2.3, with its own malloc, too).
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include "../support/check.h"
#include "../support/random.h"

#define THREADS 8
#define SECONDS 3
#define PATIENCE 60 /* until what does not move counts as hung */

static volatile int stop;
#ifndef __GLIBC__
static pthread_barrier_t end_together;
#endif
static unsigned long done[THREADS];

/* Grows blocks under the lock of a stream, past every size that comes from an array. */
static void lines(void)
{
	for (int i = 0; i < 20; i++) {
		char *text = NULL, *line = NULL;
		size_t size = 0, room = 0;
		FILE *memory = open_memstream(&text, &size);

		CHECK(memory);
		for (int part = 0; part < 30; part++)
			CHECK(fprintf(memory, "%0*d\n", 3000 + i, i) > 0);
		CHECK(!fclose(memory));
		memory = fmemopen(text, size, "r");
		CHECK(memory);
		CHECK(getdelim(&line, &room, 'x', memory) == (ssize_t)size);
		free(line);
		fclose(memory);
		free(text);
	}
}

static void blocks(struct rng *rng)
{
	void *held[300];

	for (size_t i = 0; i < 300; i++)
		CHECK(held[i] = malloc(rng_size(rng, i % 100 ? 12 : 19)));
	for (size_t i = 0; i < 300; i++)
		free(held[i]);
}

static void library(void)
{
	void *handle = dlopen("libm.so.6", RTLD_NOW);

	if (handle)
		dlclose(handle);
}

static void child(struct rng *rng)
{
	alarm(PATIENCE);
	blocks(rng);
	lines();
	_exit(0);
}

static void forks(struct rng *rng)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0)
		child(rng);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
}

static void *thread(void *arg)
{
	size_t number = (size_t)(uintptr_t)arg;
	struct rng rng = { number };

	while (!stop) {
		switch (number % 4) {
		case 0:
			forks(&rng);
			break;
		case 1:
			fflush(NULL); /* all streams, and each one's lock */
			blocks(&rng);
			break;
		case 2:
			lines();
			break;
		default:
			library();
			blocks(&rng);
			break;
		}
		__atomic_fetch_add(&done[number], 1, __ATOMIC_RELAXED);
	}
#ifndef __GLIBC__
	pthread_barrier_wait(&end_together);
#endif
	return NULL;
}

int main(int argc, char **argv)
{
	double seconds = argc > 2 ? atof(argv[2]) : (double)test_scaled(SECONDS);
	struct timespec turn = { 0, 50000000 };
	pthread_t ids[THREADS];
	time_t end;

	test_seed(argc, argv);
#ifndef __GLIBC__
	CHECK(!pthread_barrier_init(&end_together, NULL, THREADS));
#endif
	alarm((unsigned)seconds + PATIENCE);
	end = time(NULL) + (time_t)seconds;
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&ids[i], NULL, thread, (void *)i));
	while (time(NULL) < end)
		nanosleep(&turn, NULL);
	stop = 1;
	for (size_t i = 0; i < THREADS; i++) {
		CHECK(!pthread_join(ids[i], NULL));
		printf("thread %zu: %lu turns\n", i, done[i]);
		CHECK(done[i] > 0);
	}
	return 0;
}
