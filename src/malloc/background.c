/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "malloc/background.h"

#include "heap/heap.h"
#include "malloc/options.h"
#include "malloc/policy.h"
#include "page/huge.h"

#define START_BYTES ((size_t)16 << 20)
#define IDLE_TICKS  12 /* rounds of a small heap before the thread ends */
#define LONG_SLEEP  1000 /* ms between rounds when the last ones had nothing to return */
#define RETRY       1000 /* pokes until a thread is asked for again */

static _Atomic int running; /* 0: OFF, 1: RUNNING, below: so many pokes until OFF */

static size_t idle_bytes(const struct dry_heap *heap)
{
	const struct dry_arena *arena = &heap->caches.backing.arena;

	return (arena->free_dirty << arena->page_shift) + heap->extents.cached_bytes;
}

static size_t held_bytes(const struct dry_heap *heap)
{
	const struct dry_arena *arena = &heap->caches.backing.arena;

	return idle_bytes(heap) + (arena->used << arena->page_shift) + heap->extents.live_bytes;
}

static void run(void)
{
	struct dry_heap *heap = &dry_main_heap;
	unsigned small = 0, idle = 0;

	while (small < IDLE_TICKS) {
		unsigned sleep = dry_option_decay_ms / 2;
		dry_port_sleep_ms(idle > 4 && sleep < LONG_SLEEP ? LONG_SLEEP : sleep);
		dry_heap_reap(heap);
		if (dry_policy_collapses())
			dry_arena_collapse(dry_heap_arena(heap));
		idle = idle_bytes(heap) == 0 ? idle + 1 : 0;
		small = held_bytes(heap) < START_BYTES && idle != 0 ? small + 1 : 0;
	}
	/* release: a later starter sees what this thread did */
	atomic_store_explicit(&running, 0, memory_order_release);
}

static DRY_SLOW void start(void)
{
	int expected = 0;

	if (!dry_option_background ||
	    !atomic_compare_exchange_strong_explicit(&running, &expected, 1, memory_order_acq_rel,
						     memory_order_relaxed))
		return;
	if (dry_port_thread_start(run) == 0)
		return;
	/* No thread to be had: return what is free now, and try again when some more was asked for. */
	atomic_store_explicit(&running, -RETRY, memory_order_release);
	dry_arena_purge_all(dry_heap_arena(&dry_main_heap));
}

void dry_background_poke(void)
{
	/* relaxed and unlocked: a hint */
	int now = atomic_load_explicit(&running, memory_order_relaxed);

	if (DRY_LIKELY(now > 0) || held_bytes(&dry_main_heap) < START_BYTES)
		return;
	if (now == 0)
		start();
	else /* two at a time count one: no matter */
		atomic_compare_exchange_strong_explicit(&running, &now, now + 1, memory_order_relaxed, memory_order_relaxed);
}

void dry_background_forked(void)
{
	atomic_store_explicit(&running, 0, memory_order_relaxed);
}
