/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The traced program: rounds of allocation and free that go through every sequence of the library, hits
 * and misses, single ones and batches. It verifies itself: a block carries a pattern with a number of
 * its own from hand-out to free, so that one given out twice shows; and after each round every
 * cache has exactly as many objects out as before it, so that a lost one shows. A SIGUSR1, which
 * the tracer sends in the middle of a sequence, allocates and frees from the same arrays.
 */
#include <linux/rseq.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>

#include <drystone/drystone.h>

#include "../support/exercise.h"
#include "core/alloc.h"
#include "core/countdown.h"
#include "heap/heap.h"
#include "port/unix/lock_count.h"
#include "machine.h"
#include "sequences.h"

#define HELD    600
#define TYPED   3
#define COUNTED 1 /* the one with countdowns */
#define SAMPLED 2 /* the one in the default heap: a profile samples its objects, too */
#define ALARMS  16

extern const ptrdiff_t __rseq_offset __attribute__((weak));

/* Missing in a sanitizer build, and in libc. */
void free_sized(void *block, size_t size) __attribute__((weak));
void free_aligned_sized(void *block, size_t align, size_t size) __attribute__((weak));
void cfree(void *block) __attribute__((weak));

/* operator delete and delete[]; likewise */
void delete_object(void *block) __asm__("_ZdlPv") __attribute__((weak));
void delete_array(void *block) __asm__("_ZdaPv") __attribute__((weak));
void delete_object_s(void *block, size_t size) __asm__("_ZdlPvm") __attribute__((weak));
void delete_array_s(void *block, size_t size) __asm__("_ZdaPvm") __attribute__((weak));
void delete_object_al(void *block, size_t align) __asm__("_ZdlPvSt11align_val_t") __attribute__((weak));
void delete_array_al(void *block, size_t align) __asm__("_ZdaPvSt11align_val_t") __attribute__((weak));
void delete_object_s_al(void *block, size_t size, size_t align) __asm__("_ZdlPvmSt11align_val_t") __attribute__((weak));
void delete_array_s_al(void *block, size_t size, size_t align) __asm__("_ZdaPvmSt11align_val_t") __attribute__((weak));

volatile int work_over, work_in_handler;

struct held {
	void *at;
	size_t size;
	uint64_t key;
};

static struct rng rng;
static dry_heap *heap, *small; /* one so small that its caches have no shared arrays: refills are from slabs */
static dry_cache *typed[TYPED];
static const size_t typed_size[TYPED] = { 32, 200, 1024 };
static uint64_t numbers; /* every hand-out gets one */

static void hold(struct held *held, void *at, size_t size)
{
	CHECK(at);
	*held = (struct held){ at, size, ++numbers * 0x9e3779b97f4a7c15u };
	pattern_fill_key(at, size, held->key);
}

static void *let_go(struct held *held)
{
	CHECK(pattern_holds_key(held->at, held->size, held->key));
	return held->at;
}

/* ---- the handler: what else may run on the slot between an abort and the restart ------------------ */

static struct held in_alarm[TYPED + 1][ALARMS];

static void on_signal(int sig, siginfo_t *info, void *context)
{
	static unsigned turn;
	unsigned i = turn++ % ALARMS;

	(void)sig;
	(void)info;
	work_in_handler = 1;
	/* Whatever was interrupted inside of a sequence goes on at its abort handler. */
	CHECK(!sequence_at((uintptr_t)((ucontext_t *)context)->CONTEXT_PC));
	/* A batch goes between an array and a shared one under that one's lock, which a handler that allocates might want. */
	for (unsigned c = 0; dry_locks_held == 0 && c < TYPED; c++) {
		if (in_alarm[c][i].at)
			dry_cache_free(typed[c], let_go(&in_alarm[c][i]));
		hold(&in_alarm[c][i], dry_cache_alloc(typed[c]), typed_size[c]);
	}
	if (dry_locks_held == 0) {
		if (in_alarm[TYPED][i].at)
			free(let_go(&in_alarm[TYPED][i]));
		hold(&in_alarm[TYPED][i], malloc(48), 48);
	}
	work_in_handler = 2; /* for the tracer: this was all */
	CHECK(!raise(SIGTRAP));
	work_in_handler = 0;
}

/* ---- the round ---------------------------------------------------------------------------------------- */

static void shuffle(struct held *held, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = rng_below(&rng, i);
		struct held swap = held[i - 1];

		held[i - 1] = held[j];
		held[j] = swap;
	}
}

static void typed_round(unsigned c)
{
	static struct held held[HELD];
	void *objects[64];
	size_t n = 0;

	for (; n < HELD - 200; n++) { /* misses, then hits; some by the slow twin although there are objects */
		if (c == COUNTED && dry_countdown_pass(typed[c]) >= DRY_COUNTDOWN_UNARMED)
			dry_countdown_take(typed[c], 60); /* so long that the array is emptied meanwhile */
		hold(&held[n],
		     n % 16 == 5 ? dry_cache_zalloc(typed[c]) :
		     n % 16 == 9 ? dry_alloc_slow(typed[c], DRY_GFP_DEFAULT, DRY_NODE_ANY) :
				   dry_cache_alloc(typed[c]),
		     typed_size[c]);
	}
	shuffle(held, n);
	while (n > 250)
		dry_cache_free(typed[c], let_go(&held[--n]));
	static const size_t wants[] = { 1, 5, 16, 63 }; /* odd and even ones go by different ways */
	for (size_t w = 0; w < sizeof(wants) / sizeof(wants[0]); w++) {
		size_t want = wants[w];
		CHECK_EQ(dry_cache_alloc_bulk(typed[c], want, objects), want);
		for (size_t i = 0; i < want; i++)
			hold(&held[n++], objects[i], typed_size[c]);
	}
	shuffle(held, n);
	size_t some = 49 + rng_below(&rng, 2);
	for (size_t i = 0; i < some; i++)
		objects[i] = let_go(&held[--n]);
	dry_cache_free_bulk(typed[c], some, objects);
	while (n)
		dry_cache_free(typed[c], let_go(&held[--n]));
	hold(&held[0], dry_cache_alloc(typed[c]), typed_size[c]);
	if (c == SAMPLED)
		dry_cache_free(typed[c], let_go(&held[0]));
	else
		dry_free_slow(typed[c], let_go(&held[0]));
}

#define KINDS 6

static void *allocate(size_t i, size_t size)
{
	void *block;

	switch (i % KINDS) {
	case 0:
		return calloc(1, size);
	case 1:
		return realloc(NULL, size);
	case 2:
		return reallocarray(NULL, 1, size);
	case 3:
		return memalign(16, size);
	case 4:
		return posix_memalign(&block, 16, size) == 0 ? block : NULL;
	default:
		return malloc(size);
	}
}

static void release_by_operator(size_t i, void *block, size_t size)
{
	switch (i % 8) {
	case 0:
		delete_object(block);
		break;
	case 1:
		delete_array(block);
		break;
	case 2:
		delete_object_s(block, size);
		break;
	case 3:
		delete_array_s(block, size);
		break;
	case 4:
		delete_object_al(block, 16);
		break;
	case 5:
		delete_array_al(block, 16);
		break;
	case 6:
		delete_object_s_al(block, size, 16);
		break;
	default:
		delete_array_s_al(block, size, 16);
	}
}

static void release(size_t i, void *block, size_t size)
{
	void *none = NULL;

	if (i / 7 % 2 && delete_object && !SANITIZED) /* which has an opinion of its own about that */
		release_by_operator(i, block, size);
	else if (i % 7 == 0 && free_sized)
		free_sized(block, size);
	else if (i % 7 == 1 && free_aligned_sized)
		free_aligned_sized(block, 16, size);
	else if (i % 7 == 2 && cfree)
		cfree(block);
	else if (i % 7 == 3)
		none = realloc(block, 0);
	else
		free(block);
	CHECK(!none);
}

static void change(struct held *held, size_t size)
{
	size_t kept = held->size < size ? held->size : size;
	char *before = malloc(kept);

	CHECK(before);
	memcpy(before, let_go(held), kept);
	void *at = realloc(held->at, size);
	CHECK(at && !memcmp(at, before, kept));
	free(before);
	hold(held, at, size);
}

static void malloc_round(size_t size)
{
	static struct held held[HELD];
	size_t n = 0;

	for (size_t kind = 0; kind < KINDS; kind++) { /* its first hit after a batch guesses the newest object wrong */
		for (; n < HELD; n++)
			hold(&held[n], allocate(kind, size), size);
		while (n)
			n--, release(n, let_go(&held[n]), size);
	}
	for (int again = 0; again < 2; again++) {
		for (; n < HELD; n++)
			hold(&held[n], allocate(n, size), size);
		shuffle(held, n);
		for (size_t i = 0; i < n; i++) /* to another class and back */
			change(&held[i], size * 3);
		for (size_t i = 0; i < n; i++)
			change(&held[i], size);
		while (n > 200)
			n--, release(n, let_go(&held[n]), size);
		for (size_t i = 0; i < 100; i++) { /* one after the other */
			void *block = allocate(i, size);

			CHECK(block);
			OPAQUE(block);
			release(i + i / 7, block, size);
		}
	}
	while (n)
		n--, release(n, let_go(&held[n]), size);
	for (int which = 0; which < 4; which++) { /* in both heaps, and with zeroes */
		dry_heap *from = which % 2 ? NULL : heap;

		for (; n < HELD; n++)
			hold(&held[n], which < 2 ? dry_alloc(from, size) : dry_zalloc(from, size), size);
		shuffle(held, n);
		while (n)
			dry_free(from, let_go(&held[--n]));
	}
}

/* ---- nothing lost, nothing doubled ------------------------------------------------------------------- */

struct sum {
	size_t active[256], n;
};

static int add(dry_cache *cache, void *arg)
{
	struct sum *sum = arg;

	CHECK(sum->n < 256);
	sum->active[sum->n++] = stats_of(cache).active_objects;
	return 0;
}

static void count(struct sum *sum)
{
	sum->n = 0;
	CHECK_EQ(dry_heap_for_each_cache(heap, add, sum), 0);
	CHECK_EQ(dry_heap_for_each_cache(small, add, sum), 0);
	CHECK_EQ(dry_heap_for_each_cache(NULL, add, sum), 0);
}

static void release_alarms(void)
{
	sigset_t set, old;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK(!sigprocmask(SIG_BLOCK, &set, &old));
	for (unsigned i = 0; i < ALARMS; i++) {
		for (unsigned c = 0; c < TYPED; c++)
			if (in_alarm[c][i].at)
				dry_cache_free(typed[c], let_go(&in_alarm[c][i]));
		if (in_alarm[TYPED][i].at)
			free(let_go(&in_alarm[TYPED][i]));
	}
	memset(in_alarm, 0, sizeof(in_alarm));
	CHECK(!sigprocmask(SIG_SETMASK, &old, NULL));
}

static void round_of_all(void)
{
	for (unsigned c = 0; c < TYPED; c++)
		typed_round(c);
	malloc_round(48);
	malloc_round(300);
	release_alarms();
	CHECK_EQ(dry_heap_check(heap), 0);
	CHECK_EQ(dry_heap_check(small), 0);
	CHECK_EQ(dry_heap_check(NULL), 0);
}

/* The tracer changes its breakpoints here. */
static __attribute__((noinline)) void checkpoint(void)
{
	CHECK(!raise(SIGTRAP));
}

void run_workload(uint64_t seed, bool by_cpu)
{
	static struct sum before, after;
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };

	rng.state = seed;
	if (by_cpu && &__rseq_offset) { /* as without a concurrency id: then a migration changes the slot for certain */
		dry_port_init();
		dry_slot_id = __rseq_offset + (ptrdiff_t)offsetof(struct rseq, cpu_id);
	}
	CHECK(heap = dry_heap_create(NULL));
	CHECK(small = dry_heap_create(&(struct dry_heap_attr){ .name = "small", .limit = 3 << 20 }));
	struct dry_heap *const of[TYPED] = { [0] = small, [COUNTED] = heap, [SAMPLED] = NULL };
	for (unsigned c = 0; c < TYPED; c++) {
		/* A limit of each kind: what a free leaves in a full array is 8 objects, or 7, copied by ones, twos and fours. */
		struct dry_cache_attr attr = { .name = "typed", .size = typed_size[c], .flags = DRY_CACHE_NO_MERGE };

		attr.limit = c == 1 ? 13 : 0;
		heap->caches.counted = c == COUNTED;
		CHECK(typed[c] = dry_cache_create(of[c], &attr));
	}
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	round_of_all();
	while (!work_over) {
		count(&before);
		checkpoint();
		round_of_all();
		count(&after);
		CHECK(before.n == after.n && !memcmp(before.active, after.active, before.n * sizeof(before.active[0])));
	}
	for (unsigned c = 0; c < TYPED; c++) {
		dry_cache_shrink(typed[c]);
		CHECK_EQ(stats_of(typed[c]).slabs, 0);
		CHECK_EQ(dry_cache_destroy(typed[c]), 0);
	}
	CHECK_EQ(dry_heap_destroy(heap), 0);
	CHECK_EQ(dry_heap_destroy(small), 0);
	_exit(0);
}
