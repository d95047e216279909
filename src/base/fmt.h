/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Text without libc: the subset of printf that drystone's reports need.
 * %s %c %d %u %x %p %%, with l, ll and z, a width, '-' and '0' flags. Output is cut to
 * the buffer and always terminated.
 */
#ifndef DRY_BASE_FMT_H
#define DRY_BASE_FMT_H

#include <stdarg.h>
#include <stddef.h>

#include "base/compiler.h"

/* Returns the length written, below size. size >= 1. */
size_t dry_format(char *buf, size_t size, const char *fmt, ...) DRY_PRINTF(3, 4);
size_t dry_vformat(char *buf, size_t size, const char *fmt, va_list ap);

/* A byte of a program's name, as all listings and files show it: a blank is '_', and what is not of ASCII's visible ones is '?'. */
static inline char dry_visible(char c)
{
	return c == ' ' ? '_' : c > ' ' && c <= '~' ? c : '?';
}

/* A name in such bytes, of which none ends a line or a column, begins a comment or is part of bad UTF-8. Cut as by dry_format(). */
void dry_format_name(char *buf, size_t size, const char *name);

#endif
