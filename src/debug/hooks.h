/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What debugging does with the caches of a heap: the tables that core asks (core/debug_ops.h). */
#ifndef DRY_DEBUG_HOOKS_H
#define DRY_DEBUG_HOOKS_H

#include "core/debug_ops.h"

extern const struct dry_debug_ops dry_debug_checked;  /* DRY_CACHE_DEBUG: red zones, poison, owners, quarantine */
extern const struct dry_debug_ops dry_debug_secure;   /* DRY_CACHE_SECURE */
extern const struct dry_debug_ops dry_debug_annotate; /* a memory checker watches the process */

/* The usual: caches are as they ask to be, and as the options and a memory checker want them. */
const struct dry_debug_hooks *dry_hooks_usual(void);
/* The same, and all that can be are secure. No arrays. */
const struct dry_debug_hooks *dry_hooks_secure(void);
/* The usual, and allocations fail as the options ask for. No arrays. */
const struct dry_debug_hooks *dry_hooks_failing(void);

#endif
