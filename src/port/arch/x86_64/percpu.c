/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "percpu.h"

#include <linux/rseq.h>

_Static_assert(offsetof(struct dry_slot_tls, rseq_cs) == offsetof(struct rseq, rseq_cs),
	       "the look-alike has rseq_cs where the kernel has it");

const uint32_t dry_nowhere[2 * DRY_NOWHERE_WORDS] = { [4] = UINT32_MAX, [DRY_NOWHERE_WORDS + 4] = UINT32_MAX };
ptrdiff_t dry_slot_cs;
ptrdiff_t dry_slot_id __attribute__((used)); /* by the sequences, of which an optimiser of whole programs sees nothing */
bool dry_slot_owned;
