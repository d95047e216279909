/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Caches that are debugged, by letters on the kernel's command line: slab_debug= or slub_debug=. */
#ifndef DRY_KERNEL_LETTERS_H
#define DRY_KERNEL_LETTERS_H

#include "core/cache.h"

struct dry_debug_hooks;

#define DRY_LETTERS_FLAGS (SLAB_CONSISTENCY_CHECKS | SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER | SLAB_TRACE)

#ifdef CONFIG_DRYSTONE_DEBUG
/* How core is told of them. NULL: there are no letters. */
const struct dry_debug_hooks *dry_letters_hooks(void);
/* The kernel's flags of a cache of that name: those it has, and those of its letters. */
slab_flags_t dry_letters_flags(slab_flags_t flags, const char *name);
/* A cache was made: what of its flags it could not have is taken from them. */
void dry_letters_made(struct kmem_cache *s);
#else
static inline const struct dry_debug_hooks *dry_letters_hooks(void)
{
	return NULL;
}

static inline slab_flags_t dry_letters_flags(slab_flags_t flags, const char *name)
{
	return flags;
}

static inline void dry_letters_made(struct kmem_cache *s)
{
}
#endif

#endif
