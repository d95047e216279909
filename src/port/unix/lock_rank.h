/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Enforcement of lock ranks in debug builds, for the ports that have threads.
 *
 * Each thread counts the locks that it holds by rank. Acquiring a lock while
 * one of the same or a higher rank is held ends the process with a line that
 * names both ranks. A try cannot deadlock, so it is only counted. The counts
 * are thread-local with the initial-exec model: reading them never allocates.
 */
#ifndef DRY_PORT_UNIX_LOCK_RANK_H
#define DRY_PORT_UNIX_LOCK_RANK_H

#ifdef DRY_DEBUG
/* Before acquiring: ends the process if the order is violated. */
void dry_lock_rank_check(unsigned rank);
/* After acquiring and before releasing. */
void dry_lock_rank_enter(unsigned rank);
void dry_lock_rank_leave(unsigned rank);
#endif

#endif
