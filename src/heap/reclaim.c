/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Giving memory back: reap, decay, balance, trim. */
#include "core/reap.h"
#include "core/walk.h"
#include "heap/heap.h"
#include "page/budget.h"

#define BALANCE_BYTES ((size_t)1 << 20)  /* fresh memory between two looks */
#define BALANCE_KEEP  ((size_t)16 << 20) /* idle memory of either kind that is not worth it */

static void reap_of(struct dry_heap *heap, enum dry_reap which)
{
	for (; heap != NULL; heap = dry_heap_apart(heap)) {
		dry_caches_reap(&heap->caches, which);
		dry_kept_release(&heap->kept, dry_heap_arena(heap));
		dry_arena_decay(dry_heap_arena(heap), 1);
		dry_meta_decay(&heap->caches.backing.meta, 1);
		dry_extent_decay(&heap->extents, 1);
	}
}

DRY_EXPORT void dry_heap_reap(dry_heap *heap)
{
	reap_of(dry_heap_get(heap), DRY_REAP_IDLE);
}

void dry_heap_reap_shared(struct dry_heap *heap)
{
	reap_of(heap, DRY_REAP_SHARED);
}

void dry_heap_balance(struct dry_heap *heap)
{
	struct dry_arena *arena = dry_heap_arena(heap);
	/* relaxed: two callers at a time share what there is to do somehow */
	size_t bytes = (atomic_load_explicit(&arena->fresh, memory_order_relaxed) << arena->page_shift) +
		       atomic_load_explicit(&heap->extents.fresh, memory_order_relaxed);
	size_t done;

	if (DRY_LIKELY(bytes < BALANCE_BYTES))
		return;
	bytes = (atomic_exchange_explicit(&arena->fresh, 0, memory_order_relaxed) << arena->page_shift) +
		atomic_exchange_explicit(&heap->extents.fresh, 0, memory_order_relaxed);
	done = dry_extent_balance(&heap->extents, bytes, BALANCE_KEEP);
	if (done < bytes)
		dry_arena_balance(arena, (bytes - done) >> arena->page_shift, BALANCE_KEEP >> arena->page_shift);
}

static size_t trim_of(struct dry_heap *heap, enum dry_reap which)
{
	size_t bytes = 0;

	for (; heap != NULL; heap = dry_heap_apart(heap)) {
		dry_caches_reap(&heap->caches, which);
		dry_kept_release(&heap->kept, dry_heap_arena(heap));
		dry_meta_purge(&heap->caches.backing.meta);
		bytes += dry_arena_purge_all(dry_heap_arena(heap)) << dry_heap_arena(heap)->page_shift;
		bytes += dry_extent_decay(&heap->extents, 0);
	}
	return bytes;
}

DRY_EXPORT size_t dry_heap_trim(dry_heap *heap)
{
	return trim_of(dry_heap_get(heap), DRY_REAP_ALL);
}

void dry_heap_trim_unused(struct dry_heap *heap)
{
	trim_of(heap, DRY_REAP_UNUSED);
}

bool dry_heap_give_up(struct dry_heap *heap, size_t bytes)
{
	const struct dry_slab_pages *pages = heap->caches.backing.pages;
	struct dry_arena *arena = dry_heap_arena(heap);

	/* what a source has reserved is no help to others */
	if (heap->extents.source.reserve != NULL || dry_port_confined() || !dry_port_find_scarce())
		return false;
	dry_kept_release(&heap->kept, dry_heap_arena(heap));
	if (dry_arena_give_up(arena, bytes))
		return true;
	if (pages == NULL || !pages->let_go(arena))
		return false;
	dry_arena_give_up(arena, bytes); /* or what was let go went with its chunk, and nothing is left to do here */
	return true;
}

/* Who is asked at the limit of the process. */
static struct {
	struct dry_lock lock; /* guards fn and arg, a pair; not held while it runs */
	bool (*fn)(void *arg, size_t bytes);
	void *arg;
	struct dry_asking asking;
} on_limit = { .lock = DRY_LOCK_INIT(DRY_RANK_LIMIT) };

void dry_heap_on_limit(bool (*fn)(void *arg, size_t bytes), void *arg)
{
	dry_lock_acquire(&on_limit.lock);
	on_limit.fn = fn;
	on_limit.arg = arg;
	dry_lock_release(&on_limit.lock);
}

static bool ask(size_t bytes)
{
	dry_lock_acquire(&on_limit.lock);
	bool (*fn)(void *, size_t) = on_limit.fn, more;
	void *arg = on_limit.arg;
	dry_lock_release(&on_limit.lock);
	enum dry_asking_result asking = fn != NULL ? dry_asking_begin(&on_limit.asking) : DRY_ASKING_REFUSED;

	if (asking != DRY_ASKING_TAKEN)
		return asking == DRY_ASKING_WAITED;
	more = fn(arg, bytes);
	dry_asking_end(&on_limit.asking);
	return more;
}

void dry_heap_limit_fork(void)
{
	dry_lock_acquire_unranked(&on_limit.lock);
}

void dry_heap_limit_forked(bool in_child)
{
	dry_lock_forked(&on_limit.lock, in_child);
	if (in_child)
		dry_asking_forked(&on_limit.asking);
}

/* Every heap whose memory counts, this one first; not the others while the list of heaps is somebody's. */
static void trim(struct dry_heap *heap)
{
	dry_heap_trim(heap);
	if (heap != &dry_main_heap)
		dry_heap_trim(NULL);
	if (!dry_lock_try(&dry_heaps_lock))
		return;
	for (struct dry_heap *other = dry_heaps; other != NULL; other = other->next)
		if (other != heap && !other->is_default && other->extents.source.reserve == NULL)
			dry_heap_trim(other);
	dry_lock_release(&dry_heaps_lock);
}

static bool (*_Atomic limit_follow)(void); /* relaxed: a function */

void dry_heap_follow_limit(bool (*follow)(void))
{
	atomic_store_explicit(&limit_follow, follow, memory_order_relaxed);
}

bool dry_heap_free_up(struct dry_heap *heap, size_t bytes, unsigned tries)
{
	if (!dry_lock_none_held() || tries > DRY_RECLAIM_TRIES)
		return false;
	if (tries != 0 && !dry_caches_reclaim(&heap->caches, bytes))
		return false;
	dry_heap_trim(heap);
	return true;
}

/* Whether it is the process's limit that the heap may have met: its memory counts, and it has room for itself. */
static bool meets_limit(struct dry_heap *heap, size_t bytes)
{
	struct dry_arena *arena = dry_heap_arena(heap);
	size_t room;

	if (!arena->owns_memory || heap->extents.source.reserve != NULL)
		return false;
	dry_lock_acquire(&arena->lock);
	room = arena->limit_pages - arena->used - arena->charged;
	dry_lock_release(&arena->lock);
	return room > (bytes - 1) >> arena->page_shift && dry_budget_may_hold(bytes);
}

bool dry_heap_make_room(struct dry_heap *heap, size_t bytes, unsigned tries)
{
	size_t before = dry_budget_used();
	bool (*follow)(void) = atomic_load_explicit(&limit_follow, memory_order_relaxed);

	if (tries == DRY_RECLAIM_TRIES || !dry_lock_none_held())
		return false;
	if (follow != NULL && follow())
		return true;
	if (!meets_limit(heap, bytes))
		return false;
	trim(heap);
	/*
	 * At first, or another thread has given back what this one was refused for, before it was here; later that is not the
	 * reason. Nor is it what a bulk call that failed has left behind.
	 */
	if (tries == 0 ? dry_budget_used() < before || dry_budget_has_room(bytes) :
			 dry_budget_used() < before && dry_budget_has_room(bytes))
		return true;
	if (!ask(bytes))
		return false;
	trim(heap); /* what the program let go of may wait in arrays */
	return true;
}
