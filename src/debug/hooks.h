/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What debugging does with the caches of a heap: the tables that core asks (core/debug_ops.h). */
#ifndef DRY_DEBUG_HOOKS_H
#define DRY_DEBUG_HOOKS_H

#include "core/debug_ops.h"

/* The usual: caches are as they ask to be, and as the options and a memory checker want them. */
extern const struct dry_debug_hooks dry_hooks_usual;
/* The same without arrays: every allocation is a slow one. */
extern const struct dry_debug_hooks dry_hooks_slow;
/* The usual, for few objects on small stacks: arrays are not refilled. */
extern const struct dry_debug_hooks dry_hooks_sparing;
/* The usual, and all that can be are secure. No arrays. */
extern const struct dry_debug_hooks dry_hooks_secure;
/* The usual, and allocations fail as the options ask for. No arrays. */
extern const struct dry_debug_hooks dry_hooks_failing;
/* The usual, and what the program has is known (debug/live.h). */
extern const struct dry_debug_hooks dry_hooks_check;

#endif
