/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Threads that come and go.
 *
 *   server  Chains of threads, one for each of THREADS: a thread replaces blocks of 8 to 1000 bytes (here from 16) in a
 *           table of 1000, starts its successor with the same table and ends. So each thread frees what dead ones
 *           allocated. (After P.-A. Larson, M. Krishnan: Memory allocation for long-running server applications, 1998.)
 *   churn   Short threads, THREADS at a time: each allocates 500 blocks, keeps a tenth of them for whoever comes
 *           later, frees the rest and ends.
 *   phases  THREADS threads work, are all joined, and the next phase begins: most blocks die in their phase, some
 *           are exchanged with other threads, and of these survivors the main thread frees a part after each phase.
 */
#include "patterns.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- server ---- */

#define SERVER_PLACES     1000
#define SERVER_GENERATION 20000

struct chain {
	struct suite_worker worker; /* of the thread that lives now */
	size_t generations;         /* to come */
	struct suite_block *place[SERVER_PLACES];
};

static struct chain *chains;
static size_t running; /* guarded by `lock` */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;

static void *server(void *arg)
{
	struct chain *chain = arg;
	struct suite_worker *w = &chain->worker;

	for (size_t i = 0; i < SERVER_GENERATION; i++) {
		struct suite_block **place = &chain->place[bench_range(&w->random, 0, SERVER_PLACES - 1)];
		size_t size = bench_range(&w->random, 16, 1000);

		suite_free(*place);
		*place = suite_alloc(size);
		w->check += size;
	}
	w->ops += SERVER_GENERATION;
	if (--chain->generations > 0) {
		suite_detach(server, chain);
		return NULL;
	}
	pthread_mutex_lock(&lock);
	running--;
	pthread_cond_signal(&ended);
	pthread_mutex_unlock(&lock);
	return NULL;
}

void pattern_server(struct suite *suite)
{
	chains = aligned_alloc(_Alignof(struct chain), suite->threads * sizeof(*chains));
	if (chains == NULL)
		bench_die("out of memory");
	running = suite->threads;
	for (unsigned i = 0; i < suite->threads; i++) {
		chains[i] = (struct chain){ .worker = { .suite = suite, .index = i, .random = 362436069ull + i },
					    .generations = suite_share(suite, 1.5e7 / SERVER_GENERATION) };
		suite_detach(server, &chains[i]);
	}
	pthread_mutex_lock(&lock);
	while (running > 0)
		pthread_cond_wait(&ended, &lock);
	pthread_mutex_unlock(&lock);
	for (unsigned i = 0; i < suite->threads; i++) {
		suite_add(chains[i].worker.ops, chains[i].worker.check);
		for (size_t k = 0; k < SERVER_PLACES; k++)
			suite_free(chains[i].place[k]);
	}
	free(chains);
}

/* ---- churn ---- */

#define CHURN_BLOCKS 500

static _Atomic(struct suite_block *) kept; /* a stack; taken whole, so nothing is ever pushed onto a stale top */

static void keep(struct suite_block *block)
{
	struct suite_block *top = atomic_load_explicit(&kept, memory_order_relaxed);

	do
		block->next = top;
	while (!atomic_compare_exchange_weak_explicit(&kept, &top, block, memory_order_release, memory_order_relaxed));
}

static void free_kept(void)
{
	struct suite_block *block = atomic_exchange_explicit(&kept, NULL, memory_order_acquire);

	while (block != NULL) {
		struct suite_block *next = block->next;

		suite_free(block);
		block = next;
	}
}

static void *short_life(void *arg)
{
	struct suite_worker *w = arg;
	struct suite_block *block[CHURN_BLOCKS];

	free_kept();
	for (size_t i = 0; i < CHURN_BLOCKS; i++) {
		block[i] = suite_alloc(bench_range(&w->random, 16, 512));
		w->check += block[i]->size;
	}
	for (size_t i = 0; i < CHURN_BLOCKS; i++) {
		if (i % 10 == 3)
			keep(block[i]);
		else
			suite_free(block[i]);
	}
	w->ops += CHURN_BLOCKS;
	return NULL;
}

void pattern_churn(struct suite *suite)
{
	struct suite_worker worker[64];
	size_t rounds = suite_share(suite, 8000);

	for (unsigned i = 0; i < suite->threads; i++)
		worker[i] = (struct suite_worker){ .suite = suite, .index = i, .random = 521288629ull + i };
	for (size_t r = 0; r < rounds; r++) {
		pthread_t thread[64];

		for (unsigned i = 0; i < suite->threads; i++)
			if (pthread_create(&thread[i], NULL, short_life, &worker[i]) != 0)
				bench_die("cannot create a thread");
		for (unsigned i = 0; i < suite->threads; i++)
			pthread_join(thread[i], NULL);
	}
	for (unsigned i = 0; i < suite->threads; i++)
		suite_add(worker[i].ops, worker[i].check);
	free_kept();
}

/* ---- phases ---- */

#define PHASES      25
#define SURVIVORS   1000
#define PHASE_BATCH 400

static _Atomic(struct suite_block *) survivor[SURVIVORS]; /* exchanged with acquire and release */

/* One in four is swapped for what another left; what then is held is freed when the batch ends. */
static void phase_batch(struct suite_worker *w, struct suite_block **block)
{
	for (size_t i = 0; i < PHASE_BATCH; i++) {
		uint32_t r = bench_random(&w->random);
		size_t size = suite_power_law(&w->random);

		block[i] = suite_alloc(r % 128 == 0 ? size * 8 : size);
		w->check += block[i]->size;
		if (r >> 30 == 0)
			block[i] = atomic_exchange_explicit(&survivor[(r >> 8) % SURVIVORS], block[i],
							    memory_order_acq_rel);
	}
	for (size_t i = 0; i < PHASE_BATCH; i++)
		suite_free(block[i]);
	w->ops += PHASE_BATCH;
}

static uint64_t phase_seed;

static void phase(struct suite_worker *w)
{
	size_t batches = suite_share(w->suite, 1.2e7 / PHASES / PHASE_BATCH);
	struct suite_block **block = malloc(PHASE_BATCH * sizeof(*block));

	if (block == NULL)
		bench_die("out of memory");
	w->random += phase_seed;
	for (size_t i = 0; i < batches; i++)
		phase_batch(w, block);
	free(block);
}

void pattern_phases(struct suite *suite)
{
	for (size_t p = 0; p < PHASES; p++) {
		phase_seed = p * 7919;
		suite_threads(suite, phase);
		for (size_t i = p % 3; i < SURVIVORS; i += 3)
			suite_free(atomic_exchange_explicit(&survivor[i], NULL, memory_order_acq_rel));
	}
	for (size_t i = 0; i < SURVIVORS; i++)
		suite_free(survivor[i]);
}
