/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Numbers for tests, the same in each run: Marsaglia's xorshift (Xorshift RNGs, 2003). */
#ifndef DRY_TESTS_LINUX_RANDOM_H
#define DRY_TESTS_LINUX_RANDOM_H

#include <linux/types.h>

struct rnd_state {
	u64 word;
};

static inline void prandom_seed_state(struct rnd_state *state, u64 seed)
{
	state->word = seed | 1;
}

static inline u32 prandom_u32_state(struct rnd_state *state)
{
	state->word ^= state->word << 13;
	state->word ^= state->word >> 7;
	state->word ^= state->word << 17;
	return (u32)(state->word >> 16);
}

static inline u32 prandom_u32_max(u32 end)
{
	static struct rnd_state state = { 88172645463325252u };

	return prandom_u32_state(&state) % end;
}

#endif
