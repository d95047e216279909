/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Objects of caches, each noted with its stack (stats/sites.h) and its cache's name, for a search for lost blocks: those of the
 * program's caches, and of general ones in heaps of the program's. They stay in their slabs, which have no arrays then.
 *
 * A freed object is wiped, as what it pointed to would be reached through it; not where it stays constructed, or may be
 * looked at: such a one is a root.
 *
 * Not noted: what lies in memory, or pages, that the program brought; that may be a block itself.
 */
#ifndef DRY_MALLOC_NOTED_H
#define DRY_MALLOC_NOTED_H

#include "core/debug_ops.h"

/* For all heaps, instead of dry_hooks_slow; at start, once. */
const struct dry_debug_hooks *dry_noted_hooks(void);

#endif
