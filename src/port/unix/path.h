/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef DRY_PORT_UNIX_PATH_H
#define DRY_PORT_UNIX_PATH_H

#include <stdbool.h>
#include <stddef.h>

#define DRY_UNIX_PATH 320 /* room for the longest one that options may give */

/* path with the number in place of each %p. false: it was cut to the room. */
bool dry_unix_path(char *name, size_t room, const char *path, unsigned long number);

#endif
