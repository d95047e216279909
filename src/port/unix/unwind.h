/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * One step up a stack by the tables that compilers emit for exceptions (.eh_frame; DWARF 5, 6.4; Linux Standard Base 5, 10.6), so
 * that code without frame pointers has callers, too. Only stack and frame pointer are followed, which is what all but a few
 * pieces of assembler need. Nothing is allocated, and no lock is taken where glibc tells of modules without one (2.35).
 *
 * What a table says of an address is kept in a cache of fixed size. An entry is two words, and the key has the rule in it: one
 * that is written meanwhile is no hit.
 */
#ifndef DRY_UNIX_UNWIND_H
#define DRY_UNIX_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "port/unix/stack_end.h"
#include "port/unix/unwind_module.h"

struct dry_unix_frame {
	uintptr_t pc, sp, fp;
	bool exact; /* pc is where it was interrupted, and not behind a call */
};

enum dry_unix_step {
	DRY_UNIX_STEP,     /* the frame is now its caller's */
	DRY_UNIX_OUTERMOST,
	DRY_UNIX_UNKNOWN,  /* no table tells, or it is damaged; the frame is as it was */
};

/* *stack: the one that the frame is on. *module: the last one, empty at first. */
enum dry_unix_step dry_unix_unwind(struct dry_unix_frame *frame, struct dry_unix_stack *stack, struct dry_unix_module *module);

#endif
