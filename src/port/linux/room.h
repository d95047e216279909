/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What limits leave to libraries and threads of the program. RLIMIT_AS counts all that is mapped, and so does RLIMIT_MEMLOCK after
 * mlockall(MCL_FUTURE); RLIMIT_DATA what is private and writable; strict overcommit (vm.overcommit_memory 2) what is
 * committed. The heap gives back little of what it has grown to, so it does not grow so far that nothing is left.
 *
 * RLIMIT_AS and RLIMIT_DATA are looked at after a mapping, which is then taken back. The others are looked at before (/proc), with
 * a lock held until it is done: a limit is often 8 MiB only, and what is taken for a moment another thread is refused in it.
 */
#ifndef DRY_PORT_LINUX_ROOM_H
#define DRY_PORT_LINUX_ROOM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

/*
 * With `size` more mapped: whether a limit of address space, or of data, leaves less than others need; for_big: and small blocks,
 * before it is committed.
 */
bool dry_linux_is_nearly_full(size_t size, bool for_big);
/* Before a big block grows in its mapping: whether limits, which it asks for, leave others what they need. */
bool dry_linux_may_grow(size_t more);

enum dry_linux_room {
	DRY_LINUX_NO_ROOM,
	DRY_LINUX_ROOM,
	DRY_LINUX_ROOM_HELD, /* others wait for dry_linux_room_end() */
};

/*
 * Before locked memory is mapped anew in its place: for a moment the kernel's count is without it, and nobody is to look then.
 * dry_linux_room_end() ends it.
 */
enum dry_linux_room dry_linux_replace_begin(void);

/* Before `size` bytes are mapped. No system call unless it is known that they will be locked. */
enum dry_linux_room dry_linux_map_begin(size_t size);
/* After that, if there was room; error: why nothing could be mapped, else 0. */
void dry_linux_room_end(enum dry_linux_room room, int error);

/* Whether the system commits strictly; relaxed. */
extern _Atomic bool dry_linux_strict DRY_HIDDEN;

/* Whether a commit of so much is no more than a change of protection. */
bool dry_linux_commit_is_plain(size_t size);
/* So much is reserved: now and then that is looked at. */
void dry_linux_reserves(size_t size);
/* As dry_linux_map_begin(), before `size` bytes are committed where that is strict. */
enum dry_linux_room dry_linux_commit_begin(size_t size);

/* The program has called mlockall(), or undone it: whether what it maps is locked. */
void dry_linux_locks_future(bool locked);

/* In the child of a fork, whose memory is not locked. */
void dry_linux_room_forked(void);

#endif
