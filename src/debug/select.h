/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Which caches are debugged without being asked to by the program: DRYSTONE_CONF=debug:LETTERS for all, or
 * debug:LETTERS/NAME for those of that name, or whose name begins as NAME does up to its `*`.
 */
#ifndef DRY_DEBUG_SELECT_H
#define DRY_DEBUG_SELECT_H

#include <stdbool.h>

/*
 * "FZPU" or "FZ/name" in [from, end); no letters: FZPU. Every call adds to those before. false: unknown letter, empty or
 * too long a name, or too many. While the library is loaded only.
 */
bool dry_debug_select(const char *from, const char *end);

/* Flags (DRY_CACHE_DEBUG) that are asked for, for a cache of this name. */
unsigned dry_debug_wanted(const char *name);

/* Whether any cache was chosen. */
bool dry_debug_selects(void);
/* Whether DRY_CACHE_STORE_USER was asked for; met: and there was a cache of such a name. */
bool dry_debug_asks_users(bool met);

#endif
