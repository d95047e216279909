/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What debugging does with the caches of a heap: the tables that core asks (core/debug_ops.h). */
#ifndef DRY_DEBUG_HOOKS_H
#define DRY_DEBUG_HOOKS_H

#include "core/debug_ops.h"

/* The usual: caches are as they ask to be, and as the options and a memory checker want them. */
const struct dry_debug_hooks *dry_hooks_usual(void);
/* The same without arrays: every allocation is a slow one. */
const struct dry_debug_hooks *dry_hooks_slow(void);
/* The usual, for few objects on small stacks: arrays are not refilled. */
const struct dry_debug_hooks *dry_hooks_sparing(void);
/* The usual, and all that can be are secure. No arrays. */
const struct dry_debug_hooks *dry_hooks_secure(void);
/* The usual, and allocations fail as the options ask for. No arrays. */
const struct dry_debug_hooks *dry_hooks_failing(void);
const struct dry_debug_hooks *dry_hooks_check(void);

#endif
