/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#define _GNU_SOURCE
#include "common.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *program = "bench";

void bench_die(const char *what)
{
	fprintf(stderr, "%s: %s\n", program, what);
	_exit(1);
}

uint64_t bench_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

unsigned bench_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return 1;
	return (unsigned)CPU_COUNT(&set);
}

struct start {
	void (*fn)(unsigned index);
	unsigned index;
};

static void *thread_main(void *arg)
{
	struct start start = *(struct start *)arg;

	free(arg);
	start.fn(start.index);
	return NULL;
}

void bench_threads(unsigned n, void (*fn)(unsigned index))
{
	for (unsigned i = 0; i < n; i++) {
		struct start *start = bench_touch(malloc(sizeof(*start)));
		pthread_t thread;

		start->fn = fn;
		start->index = i;
		if (pthread_create(&thread, NULL, thread_main, start) != 0)
			bench_die("cannot create a thread");
		pthread_detach(thread);
	}
}

/* Asked of the dynamic linker: the address of a function may be that of the program's own PLT. */
void bench_print_served(void)
{
	Dl_info info;
	void *address = dlsym(RTLD_DEFAULT, "malloc");

	if (address != NULL && dladdr(address, &info) != 0)
		printf("# malloc %s\n", info.dli_fname);
}

/*
 * Rounds that take about `want` nanoseconds. Also the warm-up: the first runs get their memory
 * from the system, so at least that many are let pass before one counts.
 */
#define WARM_UP_RUNS 3

static size_t calibrate(const struct bench_case *c, uint64_t want)
{
	size_t rounds = 1, ops;

	for (int i = 0; i < WARM_UP_RUNS; i++)
		c->run(rounds, &ops);
	for (;;) {
		uint64_t took = c->run(rounds, &ops);

		if (took >= want / 2) {
			double scaled = (double)rounds * (double)want / (double)took;

			return scaled < 1.0 ? 1 : (size_t)scaled;
		}
		if (took < want / 16)
			rounds *= 8;
		else
			rounds *= 2;
	}
}

int bench_main(int argc, char **argv, const struct bench_case *cases)
{
	const struct bench_case *c = cases;

	program = argv[0];
	if (argc != 4) {
		fprintf(stderr, "usage: %s CASE MILLISECONDS REPETITIONS\ncases:", program);
		for (; c->name != NULL; c++)
			fprintf(stderr, " %s", c->name);
		fputc('\n', stderr);
		return 2;
	}
	while (c->name != NULL && strcmp(c->name, argv[1]) != 0)
		c++;
	if (c->name == NULL)
		bench_die("no such case");
	bench_print_served();
	if (c->setup != NULL)
		c->setup();

	size_t rounds = calibrate(c, strtoull(argv[2], NULL, 10) * 1000000u);

	for (int rep = atoi(argv[3]); rep > 0; rep--) {
		size_t ops = 0;
		uint64_t took = c->run(rounds, &ops);

		printf("%.3f\n", (double)took / (double)ops);
	}
	fflush(stdout);
	/* Threads are still waiting for work; what they hold ends with the process. */
	_exit(0);
}
