/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The hooks over a port: one lock for the process, memory from the system. See bare/tiny_config.h. */
#ifndef DRY_TINY_CONFIG_H
#define DRY_TINY_CONFIG_H

#include "port/contract.h"

#ifndef DRY_TINY_CHECK_LINKS
#define DRY_TINY_CHECK_LINKS 0
#endif

extern struct dry_lock dry_tiny_the_lock;

static inline void dry_tiny_lock(void)
{
	dry_lock_acquire(&dry_tiny_the_lock);
}
static inline void dry_tiny_unlock(void)
{
	dry_lock_release(&dry_tiny_the_lock);
}
static inline void dry_tiny_set_errno(int value)
{
	dry_port_set_errno(value);
}
void *dry_tiny_map(size_t *size);
extern const size_t dry_tiny_space, dry_tiny_page; /* of a heap that was told nothing; weak */
static inline size_t dry_tiny_system_page(void)
{
	size_t page = dry_port_page_size();

	return dry_tiny_page > page ? dry_tiny_page : page;
}
void dry_tiny_unmap(void *memory);

#endif
