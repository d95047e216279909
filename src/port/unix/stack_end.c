/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* environ */
#endif
#include "port/unix/stack_end.h"

#include <errno.h>
#include <unistd.h>

#include "port/contract.h"
#include "port/stack.h"
#include "port/unix/file.h"

#define FIRST_MAX ((uintptr_t)64 << 20)  /* the system maps nothing that near below the first stack (Linux: 128 MiB) */
#define FRAME_MAX ((uintptr_t)256 << 10) /* bytes of one frame */
#define PAGES_MAX 256                    /* to ask for at once */

extern char **environ;
extern void *__libc_stack_end DRY_WEAK; /* glibc's */

/*
 * A thread's static thread-local data lies above its stack: what can be read from there down without a gap is that. But the first
 * thread's may lie beside anything.
 */
static _Thread_local struct {
	uintptr_t from;                   /* known down to there; 0: nothing is */
	uintptr_t other_from, other_to;   /* no part of it when last seen: costs, at worst, a question for each page */
	enum { UNASKED, FIRST, LATER } is;
} own;

static uintptr_t page_of(uintptr_t address)
{
	return address & ~(uintptr_t)(dry_port_page_size() - 1);
}

/* Of the process's first stack. */
static uintptr_t first_end(void)
{
	return &__libc_stack_end != NULL ? (uintptr_t)__libc_stack_end : (uintptr_t)environ;
}

/* It is one of the calls that threads are started with, which filters on system calls may not expect of others. */
static bool may_ask(void)
{
	return dry_port_thread_allowed();
}

static bool can_read(uintptr_t page)
{
	int saved = errno;
	bool can = may_ask() && dry_file_can_read((const void *)page);

	errno = saved;
	return can;
}

static bool is_first_thread(void)
{
	if (own.is == UNASKED)
		own.is = !dry_port_restricted() && dry_port_thread() == (uint32_t)getpid() ? FIRST : LATER;
	return own.is == FIRST;
}

/* Whether all from sp up to what is known can be read, which then is known, too. */
static DRY_NOINLINE bool join(uintptr_t sp, bool live)
{
	uintptr_t bytes = dry_port_page_size(), low = page_of(sp), at = low + (live ? bytes : 0);
	uintptr_t known = own.from != 0 ? own.from : page_of((uintptr_t)&own);

	if (low - own.other_from < own.other_to - own.other_from || !may_ask() || is_first_thread())
		return false;
	for (unsigned n = 0; at < known; n++, at += bytes) {
		if (at - own.other_from < own.other_to - own.other_from) {
			own.other_from = low;
			return false;
		}
		if (n == PAGES_MAX || !can_read(at)) {
			own.other_from = low;
			own.other_to = at;
			return false;
		}
	}
	own.from = low;
	if (own.other_to >= low)
		own.other_from = own.other_to = 0;
	return true;
}

void dry_unix_stack_of(struct dry_unix_stack *stack, uintptr_t sp, bool live)
{
	uintptr_t end = (uintptr_t)&own, first = first_end();

	*stack = (struct dry_unix_stack){ end, true };
	if (DRY_LIKELY(sp < end && own.from != 0 && sp >= own.from))
		return;
	stack->end = first;
	if (sp < first && first - sp < FIRST_MAX && (live || !may_ask() || can_read(page_of(sp))))
		return;
	stack->end = end;
	if (sp < end && join(sp, live))
		return;
	*stack = (struct dry_unix_stack){ live ? page_of(sp) + dry_port_page_size() : page_of(sp), false };
}

bool dry_unix_stack_grow(struct dry_unix_stack *stack, uintptr_t to)
{
	if (to < stack->end || to - stack->end > FRAME_MAX)
		return false;
	for (; stack->end < to; stack->end += dry_port_page_size())
		if (!can_read(stack->end))
			return false;
	return true;
}
