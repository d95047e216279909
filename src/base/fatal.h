/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The one way to report corruption.
 *
 * A report is one line on standard error,
 *
 *   drystone: <what>: 0x<address>, cache <name>: <detail>
 *
 * then dry_port_abort(). With DRYSTONE_CONF=abort:0 it returns to the caller, which
 * must leave everything as it was; DRY_FATAL_INTERNAL never returns.
 *
 * base has no OS: the text leaves through the port's dry_port_write() and
 * dry_port_abort(), declared here a second time so that base includes nothing above it.
 */
#ifndef DRY_BASE_FATAL_H
#define DRY_BASE_FATAL_H

#include <stdbool.h>

#include "base/compiler.h"

enum dry_fatal_code {
	DRY_FATAL_DOUBLE_FREE,     /* "double free" */
	DRY_FATAL_INVALID_POINTER, /* "invalid pointer" (never given out) */
	DRY_FATAL_INTERIOR,        /* "pointer into the middle of an object" */
	DRY_FATAL_WRONG_CACHE,     /* "object of another cache" */
	DRY_FATAL_DEAD_CACHE,      /* "cache already destroyed" */
	DRY_FATAL_POISON,          /* "free object was written to" */
	DRY_FATAL_WRONG_SIZE,      /* "wrong size on sized free" */
	DRY_FATAL_OVERFLOW,        /* "object was written beyond its end" */
	DRY_FATAL_UNDERFLOW,       /* "object was written before its start" */
	DRY_FATAL_USE_AFTER_FREE,  /* "use after free" */
	DRY_FATAL_OUT_OF_BOUNDS,   /* "access out of bounds" */
	DRY_FATAL_MISMATCH,        /* "freed by another family than it was allocated by" */
	DRY_FATAL_INTERNAL,        /* "internal inconsistency"; always ends the process */
};

/* abort:0 sets it to false. Read by dry_fatal() only. */
extern bool dry_fatal_aborts;

/* Called after a report's line and before the end, where it is set: says more (relaxed: nothing hangs on it). */
extern void (*dry_fatal_explain)(enum dry_fatal_code code, const void *address);

/* address, cache name (NULL: none) and a detail (NULL: none). */
DRY_SLOW void dry_fatal(enum dry_fatal_code code, const void *address, const char *cache, const char *detail);

/* The <what> of a code. */
const char *dry_fatal_text(enum dry_fatal_code code);

/* One line "drystone: ..." that is no corruption: leak report, bad option. printf subset of fmt.h. */
DRY_SLOW void dry_warn(const char *fmt, ...) DRY_PRINTF(1, 2);

#endif
