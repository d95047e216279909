/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Filters on system calls: what may be asked for when one may be in force (docs/design/filters.md). */
#ifndef DRY_PORT_LINUX_FILTER_H
#define DRY_PORT_LINUX_FILTER_H

#include <stdbool.h>

/* No filter is in force in this process, and none will come before dry_linux_free_end(). false: do without. */
bool dry_linux_free_begin(void);
void dry_linux_free_end(void);

/* The program has asked for no filter, and will not before dry_linux_look_end(); for calls that the dynamic linker makes. */
bool dry_linux_look_begin(void);
void dry_linux_look_end(void);

/* The program asks for a filter; waits for the end of what was begun. false: a child of vfork() asks, for itself alone. */
bool dry_linux_filter_comes(void);

/*
 * Where libc does not tell of threads: the kernel counts the caller alone, so there is no other one until it begins one. Costs
 * some 30 us.
 */
bool dry_linux_is_counted_alone(void);

/* It is no longer worth a look whether there is one: where that is not known, there is. */
void dry_linux_filter_unsure(void);

/* In the child of a fork, which has the filters of its parent. */
void dry_linux_filter_forked(void);

#endif
