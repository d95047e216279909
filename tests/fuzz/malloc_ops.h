/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the targets `malloc` and `profile` share: the malloc family as a stream of calls, with what must hold in each. */
#ifndef DRY_TESTS_FUZZ_MALLOC_OPS_H
#define DRY_TESTS_FUZZ_MALLOC_OPS_H

#include "input.h"

struct malloc_world {
	bool may_fail; /* settings let allocations fail */
	bool is_child; /* of a fork within the stream */
	void (*op_rare)(struct input *in, unsigned what); /* operations of the target's own; NULL: none */
};
extern struct malloc_world world;

void malloc_begin(void);
/* All of an input: at its end nothing is allocated any more. */
void malloc_stream(struct input input);

#endif
