/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * How far up a stack may be read. What lies above the frames of a stack that a program made itself is not known: it may be a page
 * that faults, so each page but that of the caller's own frame is asked for. A thread's own stack, which stays while it runs, and
 * the process's first are known as a whole. Where filters on system calls may not expect it (dry_port_thread_allowed()) nothing is
 * asked: what is not known ends with its page.
 */
#ifndef DRY_UNIX_STACK_END_H
#define DRY_UNIX_STACK_END_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct dry_unix_stack {
	uintptr_t end; /* what is above the frame and below this can be read */
	bool whole;    /* there is no more of it */
};

/* The one that sp lies on. live: of a frame that runs, so the page is there. */
void dry_unix_stack_of(struct dry_unix_stack *stack, uintptr_t sp, bool live);

/* Not for a whole one. */
bool dry_unix_stack_grow(struct dry_unix_stack *stack, uintptr_t to);

/* Whether what is below `to` can be read. */
static inline bool dry_unix_stack_reaches(struct dry_unix_stack *stack, uintptr_t to)
{
	return DRY_LIKELY(to <= stack->end) || (!stack->whole && dry_unix_stack_grow(stack, to));
}

#endif
