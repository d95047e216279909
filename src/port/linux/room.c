/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Keeps errno. */
#include "port/linux/room.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "base/compiler.h"
#include "port/contract.h"
#include "port/linux/lines.h"

#define LEFT_TO_OTHERS ((size_t)1 << 20)
#define LEFT_SHARE     16 /* of a small limit of locked memory, that part */

/* ---- address space ---------------------------------------------------------- */

size_t dry_port_address_room(void)
{
	struct rlimit limit;
	int saved = errno;
	size_t room = SIZE_MAX, used;

	if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
		used = dry_linux_number_in("/proc/self/statm", 0) * dry_port_page_size();
		if (used == 0)
			used = limit.rlim_cur / 2; /* no /proc: half is a careful guess */
		room = limit.rlim_cur > used ? limit.rlim_cur - used : 0;
	}
	errno = saved;
	return room;
}

bool dry_linux_is_nearly_full(void)
{
	return !dry_port_restricted() && dry_port_address_room() < LEFT_TO_OTHERS;
}

/* ---- locked memory ---------------------------------------------------------- */

/*
 * What is mapped from now on. REFUSED: locked, for so much was not to be had (EAGAIN, which means nothing else), so there is no
 * right to more than the limit, whatever the capabilities seem to be (in a user namespace they say nothing of it).
 * relaxed: who reads an old value maps as before.
 */
static _Atomic enum { NOT_LOCKED, LOCKED, REFUSED } future;
static struct dry_lock turn = DRY_LOCK_INIT(DRY_RANK_PORT); /* from a look at what is locked until more is */

void dry_linux_locks_future(bool locked)
{
	atomic_store_explicit(&future, locked ? LOCKED : NOT_LOCKED, memory_order_relaxed);
}

void dry_linux_room_forked(void)
{
	dry_linux_locks_future(false);
	dry_lock_forget(&turn);
}

static bool may_lock_all(struct dry_linux_lines *lines)
{
	return atomic_load_explicit(&future, memory_order_relaxed) != REFUSED &&
	       (dry_linux_lines_number(lines, "CapEff:", 16, 0) >> CAP_IPC_LOCK & 1) != 0;
}

/* Whether so much more leaves too little of what may be locked. Beyond the limit, as when it was lowered, the kernel decides. */
static bool is_too_much(size_t size)
{
	struct dry_linux_lines lines;
	struct rlimit limit;
	size_t left, locked;
	bool too_much = false;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
	    !dry_linux_lines_open(&lines, DRY_LINUX_STATUS))
		return false;
	left = limit.rlim_cur / LEFT_SHARE < LEFT_TO_OTHERS ? limit.rlim_cur / LEFT_SHARE : LEFT_TO_OTHERS;
	locked = (size_t)dry_linux_lines_number(&lines, "VmLck:", 10, 0) << 10;
	if (locked == 0 && atomic_load_explicit(&future, memory_order_relaxed) == REFUSED)
		dry_linux_locks_future(false); /* undone by a call that was not seen */
	if (locked != 0 && locked <= limit.rlim_cur && (limit.rlim_cur - locked < left || limit.rlim_cur - locked - left < size))
		too_much = !may_lock_all(&lines);
	dry_linux_lines_close(&lines);
	return too_much;
}

static DRY_SLOW enum dry_linux_room begin_locked(size_t size)
{
	int saved = errno;
	bool too_much;

	if (dry_port_restricted())
		return DRY_LINUX_ROOM;
	dry_lock_acquire(&turn);
	too_much = is_too_much(size);
	errno = saved;
	if (!too_much)
		return DRY_LINUX_ROOM_HELD;
	dry_lock_release(&turn);
	return DRY_LINUX_NO_ROOM;
}

enum dry_linux_room dry_linux_map_begin(size_t size)
{
	if (DRY_UNLIKELY(atomic_load_explicit(&future, memory_order_relaxed) != NOT_LOCKED) && size != 0)
		return begin_locked(size);
	return DRY_LINUX_ROOM;
}

void dry_linux_map_end(enum dry_linux_room room, int error)
{
	if (DRY_UNLIKELY(error == EAGAIN))
		atomic_store_explicit(&future, REFUSED, memory_order_relaxed);
	if (room == DRY_LINUX_ROOM_HELD)
		dry_lock_release(&turn);
}
