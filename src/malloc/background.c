/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "malloc/background.h"

#include "malloc/options.h"

#define START_BYTES ((size_t)16 << 20)
#define IDLE_TICKS  12 /* rounds without work before the thread ends */

static _Atomic int running; /* 0: OFF, 1: RUNNING */

static size_t idle_bytes(const struct dry_heap *heap)
{
	return (heap->arena.free_dirty << heap->arena.page_shift) + heap->extents.cached_bytes;
}

static void run(void)
{
	struct dry_heap *heap = &dry_main_heap;
	unsigned idle = 0;

	while (idle < IDLE_TICKS) {
		dry_port_sleep_ms(dry_option_decay_ms / 2);
		dry_heap_reap(heap);
		idle = idle_bytes(heap) == 0 ? idle + 1 : 0;
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
	/* No thread to be had: return what is free now, and try again later. */
	atomic_store_explicit(&running, 0, memory_order_release);
	dry_arena_purge_all(&dry_main_heap.arena);
}

void dry_background_poke(void)
{
	/* relaxed and unlocked: a hint */
	if (DRY_UNLIKELY(idle_bytes(&dry_main_heap) >= START_BYTES) &&
	    atomic_load_explicit(&running, memory_order_relaxed) == 0)
		start();
}

void dry_background_forked(void)
{
	atomic_store_explicit(&running, 0, memory_order_relaxed);
}
