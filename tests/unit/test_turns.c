/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Turns of classes without arrays: they are counted down where their blocks are allocated, also while there are none, and the first
 * rate that is set after that is kept.
 */
#include "../support/check.h"
#include "debug/hooks.h"
#include "malloc/turns.h"

#define CLASS 5u
#define SIZE  64u
#define MANY  300000

/* Allocations until the next turn; MANY: there was none. `asked`: how many of them went the slow way. */
static unsigned next_turn(unsigned *asked)
{
	*asked = 0;
	for (unsigned i = 0; i < MANY; i++) {
		if (dry_turns_pass(CLASS))
			continue;
		(*asked)++;
		if (dry_turns_take(CLASS, SIZE) != DRY_TURN_NONE)
			return i;
	}
	return MANY;
}

static void check_off(void)
{
	unsigned asked;

	CHECK_EQ(next_turn(&asked), MANY);
	CHECK(asked <= 10);
}

int main(void)
{
	unsigned asked;

	CHECK(dry_heap_get(NULL) != NULL);
	dry_main_heap.caches.hooks = &dry_hooks_slow;
	check_off();
	for (int round = 0; round < 3; round++) {
		CHECK(dry_turns_set(DRY_TURN_GUARD, 100));
		for (int i = 0; i < 100; i++)
			CHECK(next_turn(&asked) < 10000);
		CHECK(dry_turns_set(DRY_TURN_GUARD, 0));
		check_off();
	}
	return 0;
}
