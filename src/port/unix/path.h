/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef DRY_PORT_UNIX_PATH_H
#define DRY_PORT_UNIX_PATH_H

#include <stddef.h>

#define DRY_UNIX_PATH 320 /* room for the longest one that options may give */

/* path with the number in place of each %p, cut to the room. */
void dry_unix_path(char *name, size_t room, const char *path, unsigned long number);

#endif
