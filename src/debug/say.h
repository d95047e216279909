/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Lines of reports: no lock, no allocation, fit for the handler of a fault. Any thread. */
#ifndef DRY_DEBUG_SAY_H
#define DRY_DEBUG_SAY_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/fatal.h"

/* One line, at most 255 characters; the newline is added. */
void dry_debug_say(const char *fmt, ...) DRY_PRINTF(1, 2);
/* The line of one frame of a stack: where the address is, by name if it has one. */
void dry_debug_say_frame(uintptr_t address);

/* A piece of text, where it is asked for in this form. */
void dry_debug_write(void *arg, const char *text, size_t bytes);
/* Who calls: the thread and its stack, as far as it is to be had. In the form of dry_fatal_explain. */
void dry_debug_say_call(enum dry_fatal_code code, const void *address);

#endif
