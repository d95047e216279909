/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Blocks that one thread allocates and another frees. They travel in lists linked through the blocks themselves,
 * so that handing on needs no memory and few shared cache lines.
 *
 *   oneway    one half of the threads allocates, the other frees; lists of 100 blocks go through one bounded queue
 *   alltoall  each thread sends lists of 32 blocks to others at random and frees what it was sent
 *   batches   25 to 1600 blocks of one size, then freed in order, in reverse or every second one first; several batches
 *             stay alive for a while; with more than one thread, every fourth batch is sent to another thread
 */
#include "patterns.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static size_t free_list(struct suite_block *block)
{
	size_t count = 0;

	for (; block != NULL; count++) {
		struct suite_block *next = block->next;

		suite_free(block);
		block = next;
	}
	return count;
}

static struct suite_block *make_list(struct suite_worker *w, size_t count, uint32_t largest)
{
	struct suite_block *list = NULL;

	for (size_t i = 0; i < count; i++) {
		struct suite_block *block = suite_alloc(bench_range(&w->random, 16, largest));

		w->check += block->size;
		block->next = list;
		list = block;
	}
	return list;
}

/* ---- oneway ---- */

#define QUEUE       256
#define ONEWAY_LIST 100

static struct suite_block *queue[QUEUE]; /* this and the next three: guarded by `lock`; first <= last <= first + room */
static size_t first, last, room;
static unsigned producers;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;

static void produce(struct suite_worker *w)
{
	for (size_t n = suite_count(w->suite, 4e6 / ONEWAY_LIST / (w->suite->threads / 2)); n > 0; n--) {
		struct suite_block *list = make_list(w, ONEWAY_LIST, 512);

		pthread_mutex_lock(&lock);
		while (last - first == room)
			pthread_cond_wait(&not_full, &lock);
		queue[last++ % QUEUE] = list;
		pthread_cond_signal(&not_empty);
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	producers--;
	pthread_cond_broadcast(&not_empty);
	pthread_mutex_unlock(&lock);
}

static void consume(struct suite_worker *w)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		while (first == last && producers > 0)
			pthread_cond_wait(&not_empty, &lock);
		if (first == last)
			break;

		struct suite_block *list = queue[first++ % QUEUE];

		pthread_cond_signal(&not_full);
		pthread_mutex_unlock(&lock);
		w->ops += free_list(list);
		pthread_mutex_lock(&lock);
	}
	pthread_mutex_unlock(&lock);
}

static void oneway(struct suite_worker *w)
{
	if (w->index % 2 == 0)
		produce(w);
	else
		consume(w);
}

void pattern_oneway(struct suite *suite)
{
	if (suite->threads % 2 != 0)
		bench_die("oneway needs an even number of threads");
	producers = suite->threads / 2;
	room = suite->threads * 4;
	suite_threads(suite, oneway);
}

/* ---- mailboxes ---- */

#define MAIL_LIMIT 16 /* lists that may wait in one */

static struct mailbox {
	_Atomic(struct suite_block *) list; /* pushed with release, taken whole with acquire */
	atomic_size_t waiting;              /* about how many lists; only a bound, so relaxed */
} __attribute__((aligned(128))) mailbox[64];

/* `tail` is the list's last block. Returns 0 if the mailbox is full. */
static int send(unsigned to, struct suite_block *list, struct suite_block *tail)
{
	struct mailbox *m = &mailbox[to];
	struct suite_block *top = atomic_load_explicit(&m->list, memory_order_relaxed);

	if (atomic_load_explicit(&m->waiting, memory_order_relaxed) >= MAIL_LIMIT)
		return 0;
	atomic_fetch_add_explicit(&m->waiting, 1, memory_order_relaxed);
	do
		tail->next = top;
	while (!atomic_compare_exchange_weak_explicit(&m->list, &top, list, memory_order_release,
						      memory_order_relaxed));
	return 1;
}

static void receive(unsigned index)
{
	if (atomic_load_explicit(&mailbox[index].list, memory_order_relaxed) == NULL)
		return;
	atomic_store_explicit(&mailbox[index].waiting, 0, memory_order_relaxed);
	free_list(atomic_exchange_explicit(&mailbox[index].list, NULL, memory_order_acquire));
}

#define TRIES 16

/* To another thread, at random. Where so many are full, or all others have ended, the sender frees the list itself. */
static void send_away(struct suite_worker *w, struct suite_block *list)
{
	unsigned threads = w->suite->threads;
	struct suite_block *tail = list;

	while (tail->next != NULL)
		tail = tail->next;
	for (unsigned tries = 0; threads > 1 && tries < TRIES; tries++) {
		if (send((w->index + bench_range(&w->random, 1, threads - 1)) % threads, list, tail))
			return;
		receive(w->index);
		if (tries % 4 == 3)
			sched_yield();
	}
	free_list(list);
}

/* What was sent to a thread that had ended already. */
static void empty_mailboxes(void)
{
	for (unsigned i = 0; i < 64; i++)
		receive(i);
}

/* ---- alltoall ---- */

#define ALL_LIST 32

static void alltoall(struct suite_worker *w)
{
	uint64_t sizes = w->random; /* apart from where lists go, which depends on who is full */

	for (size_t n = suite_share(w->suite, 6e6 / ALL_LIST); n > 0; n--) {
		uint64_t random = w->random;

		w->random = sizes;

		struct suite_block *list = make_list(w, ALL_LIST, 512);

		sizes = w->random;
		w->random = random;
		send_away(w, list);
		w->ops += ALL_LIST;
		receive(w->index);
	}
}

void pattern_alltoall(struct suite *suite)
{
	suite_threads(suite, alltoall);
	empty_mailboxes();
}

/* ---- batches ---- */

#define LARGEST_BATCH 1600
#define ALIVE         8 /* batches that live on for a while */

/* In order; in reverse; the even ones, then the odd ones. */
static void free_batch(struct suite_block **block, size_t count, size_t how)
{
	for (size_t i = 0; how % 3 == 0 && i < count; i++)
		suite_free(block[i]);
	for (size_t i = count; how % 3 == 1 && i > 0; i--)
		suite_free(block[i - 1]);
	for (size_t odd = 0; how % 3 == 2 && odd < 2; odd++)
		for (size_t i = odd; i < count; i += 2)
			suite_free(block[i]);
}

static struct suite_block *link_batch(struct suite_block **block, size_t count)
{
	for (size_t i = 0; i < count; i++)
		block[i]->next = i + 1 < count ? block[i + 1] : NULL;
	return block[0];
}

static void batches(struct suite_worker *w)
{
	struct suite_block *block[LARGEST_BATCH], *alive[ALIVE] = { NULL };
	size_t want = suite_share(w->suite, 1e7);

	for (size_t n = 0; w->ops < want; n++) {
		size_t count = (size_t)25 << (n % 7), size = 16 + (n * 368) % 1009;

		for (size_t i = 0; i < count; i++)
			block[i] = suite_alloc(size);
		w->ops += count;
		w->check += count * size;
		if (n % 4 == 1) {
			send_away(w, link_batch(block, count));
		} else if (n % 4 == 2) {
			free_list(alive[n / 4 % ALIVE]);
			alive[n / 4 % ALIVE] = link_batch(block, count);
		} else {
			free_batch(block, count, n / 4);
		}
		receive(w->index);
	}
	for (size_t i = 0; i < ALIVE; i++)
		free_list(alive[i]);
}

void pattern_batches(struct suite *suite)
{
	suite_threads(suite, batches);
	empty_mailboxes();
}
