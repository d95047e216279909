/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Lines of reports: no lock, no allocation, fit for the handler of a fault. Any thread. */
#ifndef DRY_DEBUG_SAY_H
#define DRY_DEBUG_SAY_H

#include <stdint.h>

#include "base/compiler.h"
#include "base/fatal.h"
#include "port/save.h"

/* One line, at most 255 characters; the newline is added. */
void dry_debug_say(const char *fmt, ...) DRY_PRINTF(1, 2);
/* A line for each frame of a stack: where the address is, by name if it has one. Here, or where a listing goes. */
void dry_debug_say_frames(const uintptr_t *frame, unsigned count);
void dry_debug_put_frames(dry_port_writer *write, void *arg, const uintptr_t *frame, unsigned count);
/* A listing that goes here. */
dry_port_writer dry_debug_write;
/* Those of who calls, as far as they are to be had. */
void dry_debug_say_stack(void);
/* In the child of a fork, of whose other threads one may have been at that. */
void dry_debug_say_forked(void);
/* Who calls: the thread and its stack. In the form of dry_fatal_explain. */
void dry_debug_say_call(enum dry_fatal_code code, const void *address);

#endif
