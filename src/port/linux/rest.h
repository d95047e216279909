/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* How the helper thread sleeps where filters are (rest.c). */
#ifndef DRY_PORT_LINUX_REST_H
#define DRY_PORT_LINUX_REST_H

/* After dry_linux_filter_comes(): the helper has no sleep with a time any more; returns when it is in none. */
void dry_linux_rest_ends(void);

/* In the child of a fork, which has no helper. */
void dry_linux_rest_forked(void);

#endif
