/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef DRY_PORT_UNIX_FORK_H
#define DRY_PORT_UNIX_FORK_H

#include <stdbool.h>

/* The process has no other thread. false: it may have. */
bool dry_unix_alone(void);

#endif
