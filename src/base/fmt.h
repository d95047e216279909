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

#endif
