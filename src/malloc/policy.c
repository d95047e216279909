/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "malloc/policy.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "debug/tags.h"
#include "heap/heap.h"
#include "page/budget.h"
#include "page/huge.h"

/* relaxed, all: who reads one a moment too early does as before */
static _Atomic bool collapses;
static _Atomic size_t limit = SIZE_MAX;
static _Atomic size_t known;     /* what the process may have, when last looked at; 0: not yet */
static _Atomic unsigned percent; /* limit:N%; 0: the limit is of another kind */
static _Atomic uint64_t looked;  /* at the limit that was in the way, ms */

#define PAUSE 100 /* ms between two looks for that */

static unsigned shift_of(char unit)
{
	return unit == 'K' || unit == 'k' ? 10 : unit == 'M' || unit == 'm' ? 20 : unit == 'G' || unit == 'g' ? 30 : 0;
}

static void set_limit(size_t bytes)
{
	atomic_store_explicit(&limit, bytes, memory_order_relaxed);
	dry_budget_limit(bytes);
}

static size_t share(size_t whole, size_t parts)
{
	return whole / 100 * parts;
}

/* The limit is in the way: perhaps there is more by now. */
static bool follow_up(void)
{
	uint64_t now = dry_port_clock_ms(), before = atomic_load_explicit(&looked, memory_order_relaxed);
	size_t had = atomic_load_explicit(&limit, memory_order_relaxed);

	if (!dry_policy_is_share() || now - before < PAUSE)
		return false;
	atomic_store_explicit(&looked, now, memory_order_relaxed);
	return dry_policy_follow() && atomic_load_explicit(&limit, memory_order_relaxed) > had;
}

bool dry_policy_limit(const char *from, const char *end)
{
	size_t bytes = 0, whole, parts = 0;

	if (from == end || *from < '0' || *from > '9')
		return false;
	for (; from < end && *from >= '0' && *from <= '9'; from++)
		if (__builtin_mul_overflow(bytes, (size_t)10, &bytes) ||
		    __builtin_add_overflow(bytes, (size_t)(*from - '0'), &bytes))
			return false;
	if (end - from > 1)
		return false;
	if (from < end && *from == '%') {
		whole = dry_port_memory_limit();
		if (bytes == 0 || bytes > 100 || whole == SIZE_MAX)
			return false;
		parts = bytes;
		bytes = share(whole, parts);
		atomic_store_explicit(&known, whole, memory_order_relaxed);
		dry_heap_follow_limit(follow_up);
	} else if (from < end && (shift_of(*from) == 0 || bytes > SIZE_MAX >> shift_of(*from))) {
		return false;
	} else if (from < end) {
		bytes <<= shift_of(*from);
	}
	if (bytes == 0)
		bytes = SIZE_MAX;
	atomic_store_explicit(&percent, (unsigned)parts, memory_order_relaxed);
	set_limit(bytes);
	return true;
}

size_t dry_policy_memory(void)
{
	size_t set = atomic_load_explicit(&limit, memory_order_relaxed), whole = atomic_load_explicit(&known, memory_order_relaxed);

	if (whole == 0 && (whole = dry_port_memory_limit_again()) != 0) /* with little stack: it may be a handler's */
		atomic_store_explicit(&known, whole, memory_order_relaxed);
	return whole == 0 || set < whole ? set : whole;
}

bool dry_policy_is_share(void)
{
	return atomic_load_explicit(&percent, memory_order_relaxed) != 0;
}

bool dry_policy_follow(void)
{
	size_t whole = dry_port_memory_limit_again(), parts = atomic_load_explicit(&percent, memory_order_relaxed);

	if (whole == 0 || atomic_exchange_explicit(&known, whole, memory_order_relaxed) == whole)
		return false;
	if (parts != 0)
		set_limit(share(whole, parts));
	return true;
}

/* Which of the words it is; -1: none. */
static int word(const char *from, const char *end, const char *const *words, int count)
{
	for (int i = 0; i < count; i++)
		if (strlen(words[i]) == (size_t)(end - from) && memcmp(words[i], from, (size_t)(end - from)) == 0)
			return i;
	return -1;
}

bool dry_policy_huge(const char *from, const char *end)
{
	static const char *const words[] = { "system", "never", "always", "auto" };
	int which = word(from, end, words, 4);
	static const enum dry_huge as[] = { DRY_HUGE_SYSTEM, DRY_HUGE_NEVER, DRY_HUGE_ALWAYS, DRY_HUGE_COLLAPSE };
	struct dry_heap *heap = &dry_main_heap;

	if (which < 0)
		return false;
	atomic_store_explicit(&collapses, as[which] == DRY_HUGE_COLLAPSE, memory_order_relaxed);
	dry_port_set_huge(as[which]);
	if (__atomic_load_n(&heap->ready, __ATOMIC_ACQUIRE)) /* what it has already */
		dry_arena_advise_huge(dry_heap_arena(heap), as[which]);
	return true;
}

bool dry_policy_collapses(void)
{
	return atomic_load_explicit(&collapses, memory_order_relaxed);
}

bool dry_policy_tags(const char *from, const char *end)
{
	static const char *const words[] = { "never", "sync", "async" }; /* in the order of enum dry_tagging */
	int which = word(from, end, words, 3);

	if (which >= 0)
		dry_tags_wanted = (enum dry_tagging)which;
	return which >= 0;
}

bool dry_policy_nodes(const char *from, const char *end)
{
	static const char *const words[] = { "local", "interleave", "off" }; /* in the order of enum dry_placing */
	int which = word(from, end, words, 3);

	if (which >= 0)
		dry_port_set_placing((enum dry_placing)which);
	return which >= 0;
}
