/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The hooks of the small-machine allocator (src/tiny/bare/tiny_config.h says what they are) in Linux. */
#ifndef DRY_TINY_CONFIG_H
#define DRY_TINY_CONFIG_H

#include <linux/types.h>

/* Longer runs are hard to get once memory is in pieces. */
#define DRY_TINY_SLAB_PAGES 4
/* Pages behind a run are the kernel's to give to others; so a slab has little more than what is asked for now. */
#define DRY_TINY_EXTENDS 0
#define DRY_TINY_SHARE	 16

#ifdef CONFIG_DEBUG_LIST
#define DRY_TINY_CHECK_LINKS 1
#else
#define DRY_TINY_CHECK_LINKS 0
#endif

/* memory.c. Interrupts are off in between: objects come and go in any context. */
void dry_tiny_lock(void);
void dry_tiny_unlock(void);

static inline void dry_tiny_set_errno(int value)
{
}

void dry_port_write(const char *text, size_t bytes);
__noreturn void dry_port_abort(void);

#endif
