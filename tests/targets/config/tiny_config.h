/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The hooks for the tests: as on any machine without an OS, but with an errno, and a pool for every heap that asks. */
#ifndef DRY_TINY_CONFIG_H
#define DRY_TINY_CONFIG_H

#include <errno.h>
#include <stddef.h>

#ifndef DRY_TINY_CHECK_LINKS
#define DRY_TINY_CHECK_LINKS 0
#endif

static inline void dry_tiny_lock(void)
{
}

static inline void dry_tiny_unlock(void)
{
}

static inline void dry_tiny_set_errno(int value)
{
	errno = value;
}

/* The page size of a heap that asks for memory: by the pool's size. */
static inline size_t dry_tiny_system_page(void)
{
	return 0;
}

/* tests/targets/hooks.c */
void *dry_tiny_map(size_t *size);
void dry_tiny_unmap(void *memory);
void dry_port_write(const char *text, size_t bytes);
_Noreturn void dry_port_abort(void);

#endif
