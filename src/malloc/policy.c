/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "malloc/policy.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "heap/heap.h"
#include "page/budget.h"
#include "page/huge.h"

/* relaxed, all: who reads one a moment too early does as before */
static _Atomic bool collapses;
static _Atomic size_t limit = SIZE_MAX;

static unsigned shift_of(char unit)
{
	return unit == 'K' || unit == 'k' ? 10 : unit == 'M' || unit == 'm' ? 20 : unit == 'G' || unit == 'g' ? 30 : 0;
}

bool dry_policy_limit(const char *from, const char *end)
{
	size_t bytes = 0, whole;

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
		bytes = whole / 100 * bytes;
	} else if (from < end && (shift_of(*from) == 0 || bytes > SIZE_MAX >> shift_of(*from))) {
		return false;
	} else if (from < end) {
		bytes <<= shift_of(*from);
	}
	if (bytes == 0)
		bytes = SIZE_MAX;
	atomic_store_explicit(&limit, bytes, memory_order_relaxed);
	dry_budget_limit(bytes);
	return true;
}

size_t dry_policy_memory(void)
{
	size_t set = atomic_load_explicit(&limit, memory_order_relaxed), whole;

	whole = dry_port_restricted() ? SIZE_MAX : dry_port_memory_limit();
	return set < whole ? set : whole;
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

bool dry_policy_nodes(const char *from, const char *end)
{
	static const char *const words[] = { "local", "interleave", "off" }; /* in the order of enum dry_placing */
	int which = word(from, end, words, 3);

	if (which >= 0)
		dry_port_set_placing((enum dry_placing)which);
	return which >= 0;
}
