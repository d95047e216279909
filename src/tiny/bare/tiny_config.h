/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The hooks, and what they are on a machine without an operating system. Everything that the
 * allocator asks of the world is here, besides memcpy() and memset().
 * A project of its own takes a copy of this file, changes it, and puts it first on the include path.
 */
#ifndef DRY_TINY_CONFIG_H
#define DRY_TINY_CONFIG_H

#include <stddef.h>

/* 1: links are verified before they are followed; costs about as much again as the call. */
#ifndef DRY_TINY_CHECK_LINKS
#define DRY_TINY_CHECK_LINKS 0
#endif

/* Around every call: nothing with one thread; else save and disable interrupts, or a mutex. */
static inline void dry_tiny_lock(void)
{
}
static inline void dry_tiny_unlock(void)
{
}

/* errno, where there is one. */
static inline void dry_tiny_set_errno(int value)
{
	(void)value;
}

/*
 * Memory for a heap that was given none, and for the default heap. *size: bytes wanted, 0: as it likes; and how many
 * it is. Weak: none, so NULL is no heap.
 */
void *dry_tiny_map(size_t *size);
/* Gives such memory back. */
static inline void dry_tiny_unmap(void *memory)
{
	(void)memory;
}
/* Page size of such heaps; 0: by their size. */
static inline size_t dry_tiny_system_page(void)
{
	return 0;
}

/*
 * A pointer or link is wrong. It is told to dry_tiny_bad_pointer() and dry_tiny_bad_link() (tiny.h; weak, too), which write a line
 * that says why if what writes it is linked: libdrystone-tiny-check.a, for something else in it or by `-u dry_tiny_say_pointer`.
 * Then, for good or until restart, dry_port_abort(). Weak: nothing is written; an endless loop.
 */
void dry_port_write(const char *text, size_t bytes);
_Noreturn void dry_port_abort(void);

#endif
