/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Limits and policies of the whole process, as texts of the option table; each may be set at any time. false: bad value. */
#ifndef DRY_MALLOC_POLICY_H
#define DRY_MALLOC_POLICY_H

#include <stdbool.h>
#include <stddef.h>

/* "0" (none), bytes with K, M or G behind, or N% of what the process may have: its control group, else the machine. */
bool dry_policy_limit(const char *from, const char *end);
/* "system", "never", "always", "auto". */
bool dry_policy_huge(const char *from, const char *end);
/* "local", "interleave", "off". */
bool dry_policy_nodes(const char *from, const char *end);
/* "never", "sync", "async"; at start only. */
bool dry_policy_tags(const char *from, const char *end);

/* thp:auto */
bool dry_policy_collapses(void);
/* The limit that was set, else what the process may have; SIZE_MAX: not known. */
size_t dry_policy_memory(void);
/*
 * What the process may have is looked at again: a part of it that was set as the limit follows, up and down. Whether it has changed
 * since the last look. A few system calls; none where filters may be in force.
 */
bool dry_policy_follow(void);
/* limit:N% */
bool dry_policy_is_share(void);

#endif
