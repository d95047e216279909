/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "malloc/turns.h"

#include "base/bits.h"
#include "core/countdown.h"
#include "debug/canary.h"
#include "malloc/classes.h"

#define MEAN_MAX ((size_t)1 << 40)
/* Allocations until somebody asks again, while there are no turns: what a late store of it puts off is no more than that. */
#define NOBODYS  ((int64_t)1 << 16)

static _Atomic size_t means[DRY_TURN_GUARD + 1];    /* 0: none */
static _Atomic int64_t big_left[DRY_TURN_GUARD + 1]; /* bytes, or allocations, of no class up to the next turn */
_Atomic int64_t dry_turns_direct[DRY_CLASS_COUNT];

/* What may change meanwhile, looked at once. */
struct rates {
	size_t profile, guard, size; /* size: of the class's objects */
};

static size_t mean_of(enum dry_turn kind)
{
	return atomic_load_explicit(&means[kind], memory_order_relaxed);
}

static bool count(void)
{
	return dry_countdown_all(&dry_main_heap.caches, mean_of(DRY_TURN_PROFILE) != 0 || mean_of(DRY_TURN_GUARD) != 0);
}

/*
 * A random number of the exponential distribution with mean 1, times 2^16: -ln(u) of a uniform u. log2(1 + f) is taken as
 * f + 0.344 f (1 - f), which is at most 0.6 % off, and on average not at all.
 */
static uint64_t exponential(void)
{
	uint64_t u = dry_secret_random() >> 16 | 1; /* 48 bits */
	unsigned whole = dry_log2_floor(u);         /* u = 2^whole * (1 + part / 2^16) */
	uint64_t part = whole >= 16 ? u >> (whole - 16) & 0xffff : u << (16 - whole) & 0xffff;
	uint64_t bend = (part * (65536 - part) >> 16) * 22544 >> 16;
	uint64_t log2 = ((uint64_t)(48 - whole) << 16) - part - bend; /* of 2^48 / u */

	return log2 * 45426 >> 16; /* ln 2 */
}

/* Allocations of `size` bytes before the next turn of one kind. */
static uint64_t gap(enum dry_turn kind, size_t mean, size_t size)
{
	return kind == DRY_TURN_PROFILE ? (exponential() * mean >> 16) / size : exponential() * (mean - 1) >> 16;
}

static void begin_big(enum dry_turn kind, size_t mean)
{
	/* Not added: what is left does not depend on what was before. */
	atomic_store_explicit(&big_left[kind], (int64_t)gap(kind, mean, 1) + 1, memory_order_relaxed);
}

bool dry_turns_set(enum dry_turn kind, size_t mean)
{
	mean = mean < MEAN_MAX ? mean : MEAN_MAX;
	if (atomic_exchange_explicit(&means[kind], mean, memory_order_relaxed) == mean)
		return true;
	dry_secret_seed();
	if (mean != 0)
		begin_big(kind, mean);
	for (unsigned class = 0; class < DRY_CLASS_COUNT; class ++)
		atomic_store_explicit(&dry_turns_direct[class], 0, memory_order_relaxed);
	if (count())
		return true;
	atomic_store_explicit(&means[kind], 0, memory_order_relaxed);
	(void)count();
	return false;
}

/* Allocations before the next that is sampled. */
static uint64_t draw(const struct rates *rates)
{
	uint64_t profile = rates->profile != 0 ? gap(DRY_TURN_PROFILE, rates->profile, rates->size) : UINT64_MAX;
	uint64_t guard = rates->guard != 0 ? gap(DRY_TURN_GUARD, rates->guard, rates->size) : UINT64_MAX;

	return profile < guard ? profile : guard;
}

/* Of the two that count down together: the one comes as often as the other as their rates are to each other. */
static enum dry_turn choose(const struct rates *rates)
{
	if (rates->profile == 0 || rates->guard == 0)
		return rates->profile != 0 ? DRY_TURN_PROFILE : DRY_TURN_GUARD;
	uint64_t all = rates->profile + rates->size * rates->guard;

	return dry_secret_random() % all < rates->profile ? DRY_TURN_GUARD : DRY_TURN_PROFILE;
}

static enum dry_turn take_direct(_Atomic int64_t *left, const struct rates *rates)
{
	int64_t none = 0;

	if (atomic_load_explicit(left, memory_order_relaxed) == 0)
		atomic_compare_exchange_strong_explicit(left, &none, (int64_t)(draw(rates) + 1), memory_order_relaxed,
							memory_order_relaxed);
	if (atomic_fetch_sub_explicit(left, 1, memory_order_relaxed) > 1)
		return DRY_TURN_NONE;
	atomic_store_explicit(left, (int64_t)(draw(rates) + 1), memory_order_relaxed);
	return choose(rates);
}

/* Of an array with a countdown in this state. If it is its turn, so many more are not to count. */
static enum dry_turn take(struct dry_cache *cache, enum dry_countdown state, const struct rates *rates, unsigned more)
{
	if (state == DRY_COUNTDOWN_RUNNING)
		return DRY_TURN_NONE;
	uint64_t left = draw(rates);
	bool now = state == DRY_COUNTDOWN_OVER || left == 0;
	if (now && state == DRY_COUNTDOWN_UNARMED)
		left = draw(rates);
	if (now)
		left += more;
	return dry_countdown_take(cache, left) == state && now ? choose(rates) : DRY_TURN_NONE;
}

/* Of no class: by bytes, or allocations. */
static bool is_bigs_turn(enum dry_turn kind, int64_t by)
{
	size_t mean = mean_of(kind);

	if (mean == 0 || atomic_fetch_sub_explicit(&big_left[kind], by, memory_order_relaxed) > by)
		return false;
	begin_big(kind, mean);
	return true;
}

static enum dry_turn take_big(size_t size)
{
	if (is_bigs_turn(DRY_TURN_GUARD, 1))
		return DRY_TURN_GUARD;
	return is_bigs_turn(DRY_TURN_PROFILE, (int64_t)size) ? DRY_TURN_PROFILE : DRY_TURN_NONE;
}

/* It is nobody's turn: what is counted goes the short way. */
static void pass_on(_Atomic int64_t *left)
{
	if (atomic_load_explicit(left, memory_order_relaxed) <= 1)
		atomic_store_explicit(left, NOBODYS, memory_order_relaxed);
}

enum dry_turn dry_turns_take(unsigned class, size_t size)
{
	if (class == DRY_CLASS_COUNT)
		return take_big(size);
	struct rates rates = { mean_of(DRY_TURN_PROFILE), mean_of(DRY_TURN_GUARD), 0 };
	struct dry_cache *cache;

	if (rates.profile == 0 && rates.guard == 0) {
		pass_on(&dry_turns_direct[class]);
		return DRY_TURN_NONE;
	}
	if ((cache = dry_general_cache(&dry_main_heap, class)) == NULL)
		return DRY_TURN_NONE;
	rates.size = cache->size;
	enum dry_countdown state = dry_countdown_pass(cache);
	return state == DRY_COUNTDOWN_NONE ? take_direct(&dry_turns_direct[class], &rates) : take(cache, state, &rates, 0);
}

enum dry_turn dry_turns_take_object(struct dry_cache *root)
{
	struct rates rates = { mean_of(DRY_TURN_PROFILE), mean_of(DRY_TURN_GUARD), root->size };

	if ((rates.profile == 0 && rates.guard == 0) || !dry_countdown_suits(root))
		return DRY_TURN_NONE;
	enum dry_countdown state = dry_countdown_pass(root);
	if (state == DRY_COUNTDOWN_NONE) /* what is left does not depend on what was before */
		return draw(&rates) == 0 ? choose(&rates) : DRY_TURN_NONE;
	return take(root, state, &rates, 1); /* the object that the block stands for */
}
