/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "core/countdown.h"

#include "core/slots.h"

/* A word goes on with another count. */
static void set_apart(struct dry_cache *cache, uint64_t before, uint64_t after)
{
	/* relaxed: a statistic */
	atomic_fetch_add_explicit(&cache->node[0].pops_apart, (ptrdiff_t)(dry_word_pops(before) - dry_word_pops(after)),
				  memory_order_relaxed);
}

static void unarm(struct dry_cache *cache, struct dry_array *array)
{
	uint64_t before = array->word, after = dry_word_unarmed(dry_percpu_empty_word()) | dry_array_avail(array);

	/* relaxed: it is stopped, but statistics look at any time */
	dry_poke64(&array->word, after);
	set_apart(cache, before, after);
}

static void unarm_arrays_locked(struct dry_cache *cache)
{
	const struct dry_caches *caches = cache->caches;

	for (uint32_t slot = 0; slot < caches->slots_open; slot++)
		if (caches->areas[slot] != dry_stopped_area)
			unarm(cache, dry_area_array(caches->areas[slot], cache->place));
}

/* Of caches that have arrays, and are no second names. */
static bool is_to_count(const struct dry_cache *cache)
{
	return cache->root == cache && cache->place != 0 && dry_countdown_suits(cache);
}

static void set_all_locked(struct dry_caches *caches, enum dry_countdowns to)
{
	caches->counted = to == DRY_COUNTDOWNS_ON;
	for (struct dry_cache *cache = caches->first; cache != NULL; cache = cache->next)
		if (is_to_count(cache) && (to == DRY_COUNTDOWNS_ON || cache->countdowns != DRY_COUNTDOWNS_NEVER))
			__atomic_store_n(&cache->countdowns, to, __ATOMIC_RELAXED);
}

bool dry_countdown_all(struct dry_caches *caches, bool on)
{
	dry_lock_acquire(&caches->reap_lock);
	dry_lock_acquire(&caches->lock);
	set_all_locked(caches, on ? DRY_COUNTDOWNS_ON : DRY_COUNTDOWNS_ENDING);
	bool stopped = on && dry_slots_stop_locked(caches);
	for (struct dry_cache *cache = caches->first; cache != NULL && stopped; cache = cache->next)
		if (is_to_count(cache))
			unarm_arrays_locked(cache);
	if (stopped)
		dry_slots_start_locked(caches);
	dry_lock_release(&caches->lock);
	dry_lock_release(&caches->reap_lock);
	return stopped || !on;
}

static enum dry_countdown state_of(uint64_t word)
{
	if (!dry_word_is_over(word))
		return DRY_COUNTDOWN_RUNNING;
	return dry_word_is_unarmed(word) ? DRY_COUNTDOWN_UNARMED : DRY_COUNTDOWN_OVER;
}

/* The caller's array now; NULL: there is none, or it is stopped. */
static const struct dry_array *array_of(const struct dry_cache *cache)
{
	const struct dry_caches *caches = cache->caches;
	uint32_t slot = dry_percpu_slot();
	/* acquire: pairs with the making of the area */
	char *area = slot < caches->slot_count ? __atomic_load_n(&caches->slots[slot], __ATOMIC_ACQUIRE) : NULL;

	return cache->place != 0 && area != NULL && !dry_slot_is_nowhere(caches, area) ? dry_area_array(area, cache->place) : NULL;
}

bool dry_countdown_waits(const struct dry_cache *cache)
{
	const struct dry_array *array = array_of(cache);

	return array != NULL && dry_word_is_over(dry_peek64(&array->word));
}

enum dry_countdown dry_countdown_pass(struct dry_cache *cache)
{
	const struct dry_array *array = array_of(cache);
	uint64_t word = array != NULL ? dry_peek64(&array->word) : 0;

	if (array == NULL)
		return DRY_COUNTDOWN_NONE;
	if (dry_word_is_over(word) || (word & 0xffff) != 0)
		return state_of(word);
	word = dry_percpu_charge(DRY_SLOTS(cache->caches), cache->place);
	if (word == 0)
		return DRY_COUNTDOWN_NONE;
	if (!dry_word_is_over(word)) /* relaxed: a statistic */
		atomic_fetch_sub_explicit(&cache->node[0].pops_apart, 1, memory_order_relaxed);
	return state_of(word);
}

/* The word of the caller's array, where its countdown is over, begins anew. What it was; 0: it is not over. */
static DRY_NOINLINE uint64_t begin(struct dry_cache *cache, uint64_t after)
{
	uint64_t before = dry_percpu_arm(DRY_SLOTS(cache->caches), cache->place, after);

	if (before != 0)
		set_apart(cache, before, after);
	return before;
}

enum dry_countdown dry_countdown_take(struct dry_cache *cache, uint64_t left)
{
	uint64_t before = begin(cache, dry_word_armed(dry_percpu_empty_word(), left));

	return before != 0 ? state_of(before) : DRY_COUNTDOWN_RUNNING;
}

bool dry_countdown_end(struct dry_cache *cache)
{
	return begin(cache, dry_percpu_empty_word()) != 0;
}
