/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Three loads nearer to programs.
 *
 *   server   on every CPU a thread replaces random blocks (8 to 1000 bytes) of a table of
 *            1000; after 20,000 replacements the threads pass their tables on, so that
 *            blocks are freed by another thread than allocated them. Operation: a replacement.
 *            (After P.-A. Larson, M. Krishnan: Memory allocation for long-running server
 *            applications, ISMM 1998.)
 *   realloc  32 buffers grow in turn by half their size, from 16 bytes to 256 KiB, then all
 *            are freed. Operation: one realloc.
 *   calloc   64 live blocks of 16 bytes to 128 KiB, each doubling equally likely; a random one
 *            is replaced. Operation: one calloc and one free.
 */
#include "common.h"

#include <pthread.h>

/* ---- server ---- */

#define TABLE        1000
#define REPLACEMENTS 20000

struct table {
	void *block[TABLE];
};

static struct table *tables;
static pthread_barrier_t begin, pass, end;
static unsigned threads;
static size_t server_rounds; /* written before `begin` */

static void server(unsigned index)
{
	uint64_t state = 88172645463325252ull + index;
	unsigned mine = index;

	for (;;) {
		pthread_barrier_wait(&begin);
		for (size_t r = 0; r < server_rounds; r++) {
			struct table *t = &tables[mine];

			for (size_t i = 0; i < REPLACEMENTS; i++) {
				void **place = &t->block[bench_range(&state, 0, TABLE - 1)];

				free(*place);
				*place = bench_touch(malloc(bench_range(&state, 8, 1000)));
			}
			mine = (mine + 1) % threads;
			pthread_barrier_wait(&pass);
		}
		pthread_barrier_wait(&end);
	}
}

static void setup_server(void)
{
	threads = bench_cpus();
	tables = bench_touch(calloc(threads, sizeof(*tables)));
	tables->block[0] = NULL;
	pthread_barrier_init(&begin, NULL, threads + 1);
	pthread_barrier_init(&pass, NULL, threads);
	pthread_barrier_init(&end, NULL, threads + 1);
	bench_threads(threads, server);
}

static uint64_t run_server(size_t rounds, size_t *ops)
{
	server_rounds = rounds;

	uint64_t start = bench_now();

	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	*ops = rounds * REPLACEMENTS;
	return bench_now() - start;
}

/* ---- realloc ---- */

#define BUFFERS 32
#define LARGEST ((size_t)256 << 10)

static uint64_t run_realloc(size_t rounds, size_t *ops)
{
	char *buffer[BUFFERS];
	size_t done = 0;
	uint64_t start = bench_now();

	for (size_t r = 0; r < rounds; r++) {
		for (size_t b = 0; b < BUFFERS; b++)
			buffer[b] = NULL;
		for (size_t size = 16; size <= LARGEST; size += size / 2) {
			for (size_t b = 0; b < BUFFERS; b++) {
				buffer[b] = bench_touch(realloc(buffer[b], size));
				((volatile char *)buffer[b])[size - 1] = 1;
			}
			done += BUFFERS;
		}
		for (size_t b = 0; b < BUFFERS; b++)
			free(buffer[b]);
	}
	*ops = done;
	return bench_now() - start;
}

/* ---- calloc ---- */

#define REQUESTS 4096
#define LIVE     64

static uint32_t sizes[REQUESTS];
static uint8_t places[REQUESTS];
static void *live[LIVE];

static void setup_calloc(void)
{
	uint64_t state = 123456789ull;

	for (size_t i = 0; i < REQUESTS; i++) {
		uint32_t low = 16u << bench_range(&state, 0, 11);

		sizes[i] = bench_range(&state, low, 2 * low);
		places[i] = (uint8_t)bench_range(&state, 0, LIVE - 1);
	}
}

static uint64_t run_calloc(size_t rounds, size_t *ops)
{
	uint64_t start = bench_now();

	for (size_t r = 0; r < rounds; r++) {
		for (size_t i = 0; i < REQUESTS; i++) {
			void **place = &live[places[i]];

			free(*place);
			*place = bench_touch(calloc(1, sizes[i]));
		}
	}
	*ops = rounds * REQUESTS;
	return bench_now() - start;
}

int main(int argc, char **argv)
{
	static const struct bench_case cases[] = {
		{ "server", setup_server, run_server },
		{ "realloc", NULL, run_realloc },
		{ "calloc", setup_calloc, run_calloc },
		{ NULL, NULL, NULL },
	};

	return bench_main(argc, argv, cases);
}
