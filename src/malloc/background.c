/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "malloc/background.h"

#include "core/reap.h"
#include "heap/heap.h"
#include "malloc/options.h"
#include "malloc/overrides.h"
#include "malloc/policy.h"
#include "malloc/profile.h"
#include "malloc/starter.h"
#include "page/dense.h"
#include "page/huge.h"
#include "stats/sites.h"

#define START_BYTES ((size_t)16 << 20)
#define ALONE_MOST  ((size_t)128 << 20) /* a heap that is bigger has the thread in a program with one, too */
#define IDLE_TICKS  12 /* rounds of a small heap before the thread ends */
#define LONG_SLEEP  1000 /* ms between rounds when the last ones had nothing to return */
#define RETRY       1000 /* pokes until a thread is asked for again */
#define CALLS       64 /* slow calls between two looks at the clock, with one thread */
#define KEEP_LEAST  ((size_t)2 << 20)
#define KEEP_BIG    ((size_t)4 << 20) /* big blocks; one that is freed twice is known while it is kept */
#define KEEP_MOST   ((size_t)64 << 20)
#define SOON        100 /* ms */
#define FIRST_LOOK  ((size_t)2 << 20) /* small programs do without; the first one costs some ten system calls */
#define PRICE       2000 /* us for a huge page, as long as nothing is known */
#define COLLAPSE_SHARE 100 /* a hundredth */
#define GROWN_LEAST ((size_t)1 << 18) /* so much and 1/128 the heap grows between two looks for what is idle in it */

static _Atomic int running; /* 0: OFF, 1: RUNNING, below: so many pokes until OFF */
/*
 * The thread is there for huge pages only, or has ended for what needs one thread: a program that had one thread then gives back
 * in its calls, too. Relaxed.
 */
static _Atomic bool early;

/* Who is not told of filters makes no call for itself that one may not allow of, beside threads: neither a thread nor a fence. */
static bool is_told(void)
{
	return &dry_overrides != NULL;
}

static bool may_have_helper(void)
{
	return is_told() && dry_port_thread_allowed();
}

static bool may_fence(void)
{
	return is_told() || dry_port_alone();
}

/* Of the heap and of the one apart, which goes with it. */
static size_t dirty_bytes(const struct dry_heap *heap)
{
	size_t bytes = 0;

	for (; heap != NULL; heap = dry_heap_apart(heap)) {
		const struct dry_arena *arena = &heap->caches.backing.arena;
		bytes += (arena->free_dirty - arena->dirty_clean) << arena->page_shift;
	}
	return bytes;
}

static size_t cached_bytes(const struct dry_heap *heap)
{
	size_t bytes = 0;

	for (; heap != NULL; heap = dry_heap_apart(heap))
		bytes += heap->extents.cached_bytes;
	return bytes;
}

static size_t idle_bytes(const struct dry_heap *heap)
{
	return dirty_bytes(heap) + cached_bytes(heap);
}

static size_t used_bytes(const struct dry_heap *heap)
{
	const struct dry_arena *arena = &heap->caches.backing.arena;

	return arena->used << arena->page_shift;
}

static size_t held_bytes(const struct dry_heap *heap)
{
	size_t bytes = 0;

	for (; heap != NULL; heap = dry_heap_apart(heap)) {
		const struct dry_arena *arena = &heap->caches.backing.arena;
		bytes += (arena->used + arena->free_dirty - arena->dirty_clean) << arena->page_shift;
		bytes += heap->extents.cached_bytes + heap->extents.live_bytes;
	}
	return bytes;
}

/* relaxed: what is asked for is done here or at the next call */
static void obey(void)
{
	if (DRY_UNLIKELY(__atomic_load_n(&dry_profile.request, __ATOMIC_RELAXED) != 0))
		dry_profile_obey();
}

/*
 * thp:auto. What huge pages bring is not known beforehand, and what they cost differs from machine to machine, 0.3 to 3 ms each: so
 * they are paid from a hundredth of the processor time that the process has had, and come late where they are dear.
 */
static uint64_t spent; /* us, by this process; the thread's own */

static void collapse(struct dry_heap *heap)
{
	static uint64_t price = PRICE; /* us for a huge page; the thread's own */
	uint64_t begin, due, took;
	size_t most, done;

	if (dry_port_restricted())
		return;
	begin = dry_port_processor_us(false);
	due = dry_port_processor_us(true) / COLLAPSE_SHARE;
	most = due > spent ? (size_t)((due - spent) / price) * DRY_DENSE_UNIT : 0;
	if (most < DRY_CHUNK_SIZE)
		return;
	done = dry_dense_collapse(&heap->extents, most);
	done += dry_arena_collapse(dry_heap_arena(heap), most - done);
	took = dry_port_processor_us(false) - begin;
	spent += took;
	if (done != 0)
		price = (3 * price + took / (done / DRY_DENSE_UNIT)) / 4 + 1;
}

/* The thread has no turns any more: what it would do is done in calls. */
static _Noreturn void park(void)
{
	atomic_store_explicit(&running, 0, memory_order_release); /* as at its end */
	dry_port_park();
}

/* false: it is to end, and to begin again some time later. */
static bool rests(unsigned ms)
{
	enum dry_rest next = dry_port_rest_ms(ms);

	if (next == DRY_REST_PARK)
		park();
	return next == DRY_REST_ROUND;
}

static unsigned sleep_ms(unsigned idle)
{
	unsigned half = dry_option_decay_ms / 2;

	return idle > 4 && half < LONG_SLEEP ? LONG_SLEEP : half;
}

static void hand_over(void);

static void run(void)
{
	struct dry_heap *heap = &dry_main_heap;
	unsigned small = 0, idle = 0;
	/* The first fence takes milliseconds: nobody waits for it here, but the end of a process would. */
	bool stays = rests(SOON);

	if (stays)
		(void)dry_port_slot_fence();
	while (stays && small < IDLE_TICKS && (stays = rests(sleep_ms(idle)))) {
		dry_port_thread_leave();
		dry_profile_follow();
		dry_heap_reap(heap);
		if (dry_policy_collapses())
			collapse(heap);
		obey();
		idle = idle_bytes(heap) == 0 ? idle + 1 : 0;
		small = held_bytes(heap) < START_BYTES && idle != 0 ? small + 1 : 0;
	}
	if (!stays)
		hand_over();
	dry_port_rest_over();
	/* release: a later starter sees what this thread did */
	atomic_store_explicit(&running, stays ? 0 : -RETRY, memory_order_release);
}

static DRY_SLOW void start(void)
{
	int expected = 0;

	if (!dry_option_background ||
	    !atomic_compare_exchange_strong_explicit(&running, &expected, 1, memory_order_acq_rel,
						     memory_order_relaxed))
		return;
	dry_starter_begin(__builtin_frame_address(0));
	int error = dry_port_thread_start(run);
	dry_starter_end();
	if (error == 0)
		return;
	/* No thread to be had: return what is free now, and try again when some more was asked for. */
	atomic_store_explicit(&running, -RETRY, memory_order_release);
	dry_arena_purge_all(dry_heap_arena(&dry_main_heap));
}

/* ---- with one thread, or where there may be no helper: in calls ---------------------------- */

static _Atomic bool inside; /* somebody is, where there may be more than one */

/* Whether the caller is the only one here. */
static bool enters(void)
{
	if (dry_port_alone())
		return true;
	/* acquire, release: guards `alone` */
	return (atomic_load_explicit(&early, memory_order_relaxed) || !may_have_helper()) &&
	       !atomic_exchange_explicit(&inside, true, memory_order_acquire);
}

static void leaves(void)
{
	atomic_store_explicit(&inside, false, memory_order_release);
}

static struct {
	size_t keep;       /* idle memory that is not worth it */
	size_t held, gone; /* right after the last step: bytes held, and purged by it */
	uint64_t step;     /* when that was, ms */
	uint64_t rest;     /* no step before that */
	uint64_t round;    /* when the last round of reaping was */
	unsigned calls;
} alone = { .keep = KEEP_LEAST };

/*
 * The thread ends, and the program, which has one thread then, may make no 1,000 calls any more: meanwhile it gives back in those
 * that it makes. What was taken again before the thread was there keeps nothing.
 */
static void hand_over(void)
{
	atomic_store_explicit(&early, true, memory_order_relaxed);
	if (enters()) {
		alone.keep = KEEP_LEAST;
		alone.gone = 0;
		alone.rest = 0;
		leaves();
	}
}

/* What the thread would do, when it would. */
static DRY_SLOW void make_round(struct dry_heap *heap)
{
	uint64_t now = dry_port_clock_ms();

	if (now - alone.round < dry_option_decay_ms / 2)
		return;
	alone.round = now;
	alone.keep = alone.keep / 2 > KEEP_LEAST ? alone.keep / 2 : KEEP_LEAST;
	dry_profile_follow();
	if (may_fence())
		dry_heap_reap(heap);
	else
		dry_heap_reap_shared(heap);
}

static void count_call(struct dry_heap *heap)
{
	if (DRY_UNLIKELY(++alone.calls % CALLS == 0) && held_bytes(heap) >= START_BYTES)
		make_round(heap);
}

/*
 * Much is idle. What was given back a moment ago and taken again since would have been better kept: more is, from now on, and for a
 * while nothing is given back.
 */
static DRY_SLOW void give_back(struct dry_heap *heap)
{
	uint64_t now = dry_port_clock_ms();
	size_t held = held_bytes(heap);

	if (alone.gone != 0 && now - alone.step < dry_option_decay_ms && held > alone.held + alone.gone / 2) {
		size_t keep = held - alone.held > 2 * alone.keep ? held - alone.held : 2 * alone.keep;
		alone.keep = keep < KEEP_MOST ? keep : KEEP_MOST;
		alone.rest = now + dry_option_decay_ms;
		alone.gone = 0;
	}
	if (now < alone.rest || !may_fence())
		return;
	dry_heap_trim_unused(heap);
	alone.held = held_bytes(heap);
	alone.gone = held > alone.held ? held - alone.held : 0;
	alone.step = now;
}

void dry_background_freed(void)
{
	struct dry_heap *heap = &dry_main_heap;
	size_t idle = dirty_bytes(heap), kept_big = cached_bytes(heap);

	if (DRY_UNLIKELY(kept_big > KEEP_BIG))
		idle += kept_big - KEEP_BIG;
	if (DRY_LIKELY(idle <= KEEP_LEAST) || !dry_option_background || !dry_lock_none_held() || !enters())
		return;
	int saved = dry_port_get_errno(); /* destructors of caches that are reaped may set it */
	/* what seems in use may be objects in arrays, each in a slab of its own */
	if (idle > alone.keep + (held_bytes(heap) - idle) / 16)
		give_back(heap);
	count_call(heap);
	dry_port_set_errno(saved);
	leaves();
}

/* ---- while it grows ---------------------------------------------------------------------- */

static _Atomic size_t grown_to = FIRST_LOOK - GROWN_LEAST; /* bytes used at the last look, or less */

/*
 * Before a heap takes much more memory, what its caches do not use: objects in arrays and shared arrays that nobody has asked for
 * since the last look, each of which may keep a slab. Of what a look gives back, half may be taken again before the next one.
 */
static DRY_SLOW void look_through(struct dry_heap *heap, size_t before, size_t used)
{
	/* relaxed: who is first does it */
	if (!atomic_compare_exchange_strong_explicit(&grown_to, &before, used, memory_order_relaxed, memory_order_relaxed))
		return;
	/* a first fence is not worth milliseconds: the thread that starts soon makes them ready */
	dry_caches_reap(&heap->caches, may_fence() && dry_port_slot_fence_ready() ? DRY_REAP_UNASKED : DRY_REAP_SHARED);
	size_t left = used_bytes(heap);
	if (left < used)
		atomic_store_explicit(&grown_to, left + (used - left) / 2, memory_order_relaxed);
}

void dry_background_poke(void)
{
	size_t used = used_bytes(&dry_main_heap), before = atomic_load_explicit(&grown_to, memory_order_relaxed);

	if (DRY_UNLIKELY(dry_starter_is_below())) /* little stack is left, and this call is one of ours */
		return;
	if (DRY_UNLIKELY(!dry_lock_none_held())) /* a destructor allocates, under locks of its heap */
		return;
	obey();
	if (DRY_UNLIKELY(used > before + GROWN_LEAST + before / 128))
		look_through(&dry_main_heap, before, used);
	/* relaxed and unlocked: a hint */
	int now = atomic_load_explicit(&running, memory_order_relaxed);
	size_t held = DRY_LIKELY(now > 0) ? 0 : held_bytes(&dry_main_heap);
	if (held < START_BYTES)
		return;
	/* for huge pages there is a thread in any case: a program with one may well make no calls while its memory stays full */
	bool few = dry_port_alone() && held < ALONE_MOST;
	if (now == 0 && dry_option_background && ((few && !dry_policy_collapses()) || !may_have_helper())) {
		if (enters()) {
			count_call(&dry_main_heap);
			leaves();
		}
	} else if (now == 0) {
		atomic_store_explicit(&early, few, memory_order_relaxed);
		start();
	} else { /* two at a time count one: no matter */
		atomic_compare_exchange_strong_explicit(&running, &now, now + 1, memory_order_relaxed, memory_order_relaxed);
	}
}

const struct dry_keeper dry_background = { .takes = dry_background_poke, .gives = dry_background_freed };

void dry_background_forked(void)
{
	dry_starter_forked();
	atomic_store_explicit(&running, 0, memory_order_relaxed);
	atomic_store_explicit(&inside, false, memory_order_relaxed);
	spent = 0; /* the child's processor time begins anew, too */
}
