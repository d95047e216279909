/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Runs of pages of the small-machine allocator in Linux: in place of src/tiny/pages.c, from the kernel's pages and back to
 * them. The one pool is all of the memory that the kernel has addresses for, and its map knows of each page what
 * src/tiny/pages.h says; a page that is not ours is DRY_MAP_NONE.
 *
 * With the lock held no page can be waited for. So who gets none hands some in, got with all of its rights, and tries again.
 */
#ifndef DRY_KERNEL_TINY_MEMORY_H
#define DRY_KERNEL_TINY_MEMORY_H

#include <linux/gfp.h>
#include <linux/init.h>

#include "tiny/pages.h"

extern struct dry_heap *dry_kernel_heap;

/* Lays the heap out. */
void __init dry_kernel_heap_init(void);

/* Pages for the next run that is taken; at most one run at a time. false: there are none. Without the lock. */
bool dry_kernel_offer(gfp_t gfp, unsigned int order);
/* What was offered and not taken goes back. */
void dry_kernel_withdraw(void);

#endif
