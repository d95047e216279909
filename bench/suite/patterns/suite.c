/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#define _GNU_SOURCE
#include "suite.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Enough stack for each pattern, little for 64 threads. */
#define STACK ((size_t)256 << 10)

static size_t total_ops;
static uint64_t total_check;
static struct suite_worker workers[64];

void suite_damaged(const void *block)
{
	(void)block;
	bench_die("a block was changed by somebody else: damaged, or handed out twice");
}

void suite_add(size_t ops, uint64_t check)
{
	total_ops += ops;
	total_check += check;
}

size_t suite_count(const struct suite *suite, double full)
{
	double count = full * suite->scale;

	return count < 1.0 ? 1 : (size_t)count;
}

size_t suite_share(const struct suite *suite, double full)
{
	return suite_count(suite, full / suite->threads);
}

static pthread_attr_t small_stacks(int state)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_attr_setdetachstate(&attr, state);
	return attr;
}

static pthread_t start(void *(*fn)(void *), void *arg, int state)
{
	pthread_attr_t attr = small_stacks(state);
	pthread_t thread;

	if (pthread_create(&thread, &attr, fn, arg) != 0)
		bench_die("cannot create a thread");
	pthread_attr_destroy(&attr);
	return thread;
}

void suite_detach(void *(*fn)(void *), void *arg)
{
	start(fn, arg, PTHREAD_CREATE_DETACHED);
}

static void (*thread_fn)(struct suite_worker *worker);

static void *thread_main(void *worker)
{
	thread_fn(worker);
	return NULL;
}

void suite_threads(struct suite *suite, void (*fn)(struct suite_worker *worker))
{
	pthread_t thread[64];

	thread_fn = fn;
	for (unsigned i = 0; i < suite->threads; i++) {
		workers[i] =
			(struct suite_worker){ .suite = suite, .index = i, .random = 88172645463325252ull + 977 * i };
		if (suite->threads > 1)
			thread[i] = start(thread_main, &workers[i], PTHREAD_CREATE_JOINABLE);
		else
			fn(&workers[i]);
	}
	for (unsigned i = 0; i < suite->threads; i++) {
		if (suite->threads > 1)
			pthread_join(thread[i], NULL);
		suite_add(workers[i].ops, workers[i].check);
	}
}

/* Resident memory in KiB, read without the help of stdio, which would allocate. */
static unsigned long resident(void)
{
	char text[128] = "";
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (file == NULL)
		return 0;
	setvbuf(file, text, _IOFBF, sizeof(text));
	if (fscanf(file, "%*s %lu", &pages) != 1)
		pages = 0;
	fclose(file);
	return pages * (unsigned long)(sysconf(_SC_PAGESIZE) / 1024);
}

static int usage(const char *program, const struct suite_pattern *patterns)
{
	fprintf(stderr, "usage: %s PATTERN THREADS SCALE\npatterns:", program);
	for (; patterns->name != NULL; patterns++)
		fprintf(stderr, " %s", patterns->name);
	fputc('\n', stderr);
	return 2;
}

int suite_main(int argc, char **argv, const struct suite_pattern *patterns)
{
	const struct suite_pattern *p = patterns;

	if (argc != 4)
		return usage(argv[0], patterns);
	while (p->name != NULL && strcmp(p->name, argv[1]) != 0)
		p++;

	struct suite suite = { .threads = (unsigned)atoi(argv[2]), .scale = atof(argv[3]) };

	if (p->name == NULL || suite.threads < 1 || suite.threads > 64 || suite.scale <= 0.0)
		return usage(argv[0], patterns);
	bench_print_served();
	p->run(&suite);

	unsigned long kib = resident();

	unsigned idle = getenv("SUITE_IDLE") != NULL ? (unsigned)atoi(getenv("SUITE_IDLE")) : 0;

	if (idle > 0) {
		sleep(idle);
		printf("settled %lu\n", resident());
	}
	printf("ops %zu\ncheck %016llx\nresident %lu\nlive %zu\n", total_ops, (unsigned long long)total_check, kib,
	       suite.live);
	return fflush(stdout) == 0 ? 0 : 1;
}
