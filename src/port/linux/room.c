/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Keeps errno. */
#include "port/linux/room.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "base/compiler.h"
#include "port/contract.h"
#include "port/linux/filter.h"
#include "port/linux/lines.h"

#define LEFT_TO_OTHERS ((size_t)1 << 20)
#define LEFT_TO_SMALL  ((size_t)1 << 20) /* and to small blocks, which are mapped many at once, by big ones */
#define BEGINNING      (((size_t)3 << 20) + (8 << 10)) /* a first chunk, one of metadata, a slot's arrays between two pages */
#define LEFT_SHARE     16 /* of a small limit of data or locked memory, that part */
#define LAG_SHARE      256 /* the kernel's count of what it has promised lags behind by that part of memory, in all processors */
#define LOOK           ((size_t)16 << 20) /* bytes reserved between two looks at whether it is strict: an arena's least step */
#define CREDIT_SHARE   64 /* commits together, between two looks: of what is left that part, at most so much */
#define CREDIT_MOST    ((size_t)16 << 20)

/* From a look at what there is until more of it is taken; guards credit. */
static struct dry_lock turn = DRY_LOCK_INIT(DRY_RANK_PORT);

/* ---- address space ---------------------------------------------------------- */

/* A limit leaves so little that what is idle may be missed elsewhere: not twice what is used. */
static bool leaves_little(size_t limit, size_t used)
{
	return used > limit / 3;
}

/* Changes errno, as data_room() does: who asks for both keeps it, for there is little stack (docs/design/stack.md). */
static size_t address_room(struct dry_linux_lines *lines, bool *little)
{
	struct rlimit limit;
	size_t room = SIZE_MAX, used;

	if (!dry_port_confined() && getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
		used = dry_linux_lines_first(lines, "/proc/self/statm") * dry_port_page_size();
		if (used == 0)
			used = limit.rlim_cur / 2; /* no /proc: half is a careful guess */
		room = limit.rlim_cur > used ? limit.rlim_cur - used : 0;
		*little |= leaves_little(limit.rlim_cur, used);
	}
	return room;
}

size_t dry_port_address_room(void)
{
	struct dry_linux_lines lines;
	bool little = false;
	int saved = errno;
	size_t room = address_room(&lines, &little);

	errno = saved;
	return room;
}

/* A limit of address space or of data was seen, and was tight at the last look or perhaps met since. Relaxed: hints. */
static _Atomic bool limited, tight;

static bool is_limited(int resource)
{
	struct rlimit limit;

	return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/* It may have come, or been lowered below what there is, since something was mapped last. */
bool dry_port_find_scarce(void)
{
	int saved = errno;

	if (dry_linux_look_begin()) {
		atomic_store_explicit(&limited, is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA), memory_order_relaxed);
		atomic_store_explicit(&tight, true, memory_order_relaxed);
		dry_linux_look_end();
	}
	errno = saved;
	return dry_port_is_scarce();
}

/* What others are left of a limit, of a small one a part of it. */
static size_t left_of(size_t limit)
{
	return limit / LEFT_SHARE < LEFT_TO_OTHERS ? limit / LEFT_SHARE : LEFT_TO_OTHERS;
}

/* Of the limit of data what is had, less what others are left; SIZE_MAX: there is no limit. */
static size_t data_room(struct dry_linux_lines *lines, bool *little)
{
	static struct rlimit limit; /* one look at a time */
	size_t used = 0;

	if (getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return SIZE_MAX;
	if (dry_linux_lines_open(lines, DRY_LINUX_STATUS)) { /* else the kernel decides */
		used = ((size_t)dry_linux_lines_number(lines, "VmData:", 10, 0) << 10) + left_of(limit.rlim_cur);
		dry_linux_lines_close(lines);
	}
	*little |= leaves_little(limit.rlim_cur, used);
	return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

size_t dry_port_data_room(void)
{
	static struct dry_linux_lines lines; /* too much for a small stack */
	size_t room = SIZE_MAX;
	bool little = false;
	int saved = errno;

	if (dry_linux_look_begin()) {
		room = data_room(&lines, &little);
		dry_linux_look_end();
	}
	errno = saved;
	return room;
}

/* Whether so much address space is to be had, and more data than that; or the process is confined, and nobody may look. */
static DRY_NOINLINE bool is_enough(size_t space, size_t data)
{
	/* One look at a time; too much for a small stack (docs/design/stack.md), as above and below. */
	static struct dry_linux_lines lines;
	static int saved;
	static bool little;
	static size_t space_left, data_left;
	bool enough;

	if (!dry_linux_look_begin())
		return true;
	saved = errno;
	little = false;
	space_left = address_room(&lines, &little);
	data_left = data_room(&lines, &little);
	errno = saved;
	atomic_store_explicit(&limited, space_left != SIZE_MAX || data_left != SIZE_MAX, memory_order_relaxed);
	atomic_store_explicit(&tight, little, memory_order_relaxed);
	enough = space_left >= space && data_left > data;
	dry_linux_look_end();
	return enough;
}

/*
 * Whether there is a filter is not asked for it: most programs end before that is of interest. Nor is the limit for what every
 * process begins with.
 */
bool dry_linux_is_nearly_full(size_t size, bool for_big)
{
	static _Atomic size_t begun;

	if (atomic_load_explicit(&begun, memory_order_relaxed) < BEGINNING &&
	    atomic_fetch_add_explicit(&begun, size, memory_order_relaxed) + size <= BEGINNING)
		return false;
	/* a big one counts as data only when it is committed */
	return !is_enough(LEFT_TO_OTHERS + (for_big ? LEFT_TO_SMALL : 0), for_big ? LEFT_TO_SMALL + size : 0);
}

bool dry_linux_may_grow(size_t more)
{
	if (more > SIZE_MAX / 2 || !dry_port_find_scarce())
		return true; /* the kernel decides */
	return is_enough(LEFT_TO_OTHERS + LEFT_TO_SMALL + more, LEFT_TO_SMALL + more);
}

/* ---- locked memory ---------------------------------------------------------- */

/* The lines that are read here and below are guarded by `turn`. */

/*
 * What is mapped from now on. REFUSED: locked, for so much was not to be had (EAGAIN, which means nothing else), so there is no
 * right to more than the limit, whatever the capabilities seem to be (in a user namespace they say nothing of it).
 * relaxed: who reads an old value maps as before.
 */
static _Atomic enum { NOT_LOCKED, LOCKED, REFUSED } future;

void dry_linux_locks_future(bool locked)
{
	atomic_store_explicit(&future, locked ? LOCKED : NOT_LOCKED, memory_order_relaxed);
}

static bool may_lock_all(struct dry_linux_lines *lines)
{
	return atomic_load_explicit(&future, memory_order_relaxed) != REFUSED &&
	       (dry_linux_lines_number(lines, "CapEff:", 16, 0) >> CAP_IPC_LOCK & 1) != 0;
}

/* Whether so much more leaves too little of what may be locked. Beyond the limit, as when it was lowered, the kernel decides. */
static bool locks_too_much(size_t size)
{
	static struct dry_linux_lines lines;
	struct rlimit limit;
	size_t left, locked;
	bool too_much = false;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
	    !dry_linux_lines_open(&lines, DRY_LINUX_STATUS))
		return false;
	left = left_of(limit.rlim_cur);
	locked = (size_t)dry_linux_lines_number(&lines, "VmLck:", 10, 0) << 10;
	if (locked == 0 && atomic_load_explicit(&future, memory_order_relaxed) == REFUSED)
		dry_linux_locks_future(false); /* undone by a call that was not seen */
	if (locked != 0 && locked <= limit.rlim_cur && (limit.rlim_cur - locked < left || limit.rlim_cur - locked - left < size))
		too_much = !may_lock_all(&lines);
	dry_linux_lines_close(&lines);
	return too_much;
}

/* ---- promised memory -------------------------------------------------------- */

_Atomic bool dry_linux_strict;
static size_t credit;

static DRY_SLOW void look_at_setting(void)
{
	int saved = errno;
	bool strict = false;

	if (dry_linux_look_begin()) {
		strict = dry_linux_number_in("/proc/sys/vm/overcommit_memory") == 2;
		dry_linux_look_end();
	}
	atomic_store_explicit(&dry_linux_strict, strict, memory_order_relaxed);
	errno = saved;
}

void dry_linux_reserves(size_t size)
{
	static _Atomic size_t since;

	if (atomic_fetch_add_explicit(&since, size, memory_order_relaxed) + size < LOOK)
		return;
	atomic_store_explicit(&since, 0, memory_order_relaxed);
	look_at_setting();
}

static size_t kilobytes_in(const char *path)
{
	return (size_t)dry_linux_number_in(path) << 10;
}

/* What the kernel keeps from this process: a part for administrators, and one of its size. */
static size_t kept_back(void)
{
	static struct dry_linux_lines lines;
	size_t kept = dry_linux_number_in("/proc/self/statm") * dry_port_page_size() / 32;
	size_t most = kilobytes_in("/proc/sys/vm/user_reserve_kbytes");
	bool administrates = false;

	if (dry_linux_lines_open(&lines, DRY_LINUX_STATUS)) {
		administrates = (dry_linux_lines_number(&lines, "CapEff:", 16, 0) >> CAP_SYS_ADMIN & 1) != 0;
		dry_linux_lines_close(&lines);
	}
	return (kept < most ? kept : most) + (administrates ? 0 : kilobytes_in("/proc/sys/vm/admin_reserve_kbytes"));
}

/* Whether so much more leaves too little of what the system promises. */
static bool commits_too_much(size_t size)
{
	static struct dry_linux_lines lines;
	size_t memory, limit, used;

	if (size <= credit) {
		credit -= size;
		return false;
	}
	if (!dry_linux_lines_open(&lines, "/proc/meminfo"))
		return false;
	memory = (size_t)dry_linux_lines_number(&lines, "MemTotal:", 10, 0) << 10;
	limit = (size_t)dry_linux_lines_number(&lines, "CommitLimit:", 10, 0) << 10;
	used = (size_t)dry_linux_lines_number(&lines, "Committed_AS:", 10, 0) << 10;
	dry_linux_lines_close(&lines);
	used += LEFT_TO_OTHERS + memory / LAG_SHARE + kept_back();
	if (used > limit || limit - used < size)
		return true;
	size_t left = (limit - used - size) / CREDIT_SHARE;
	credit = left < CREDIT_MOST ? left : CREDIT_MOST;
	return false;
}

static bool is_strict_or_locked(void)
{
	return atomic_load_explicit(&dry_linux_strict, memory_order_relaxed) ||
	       atomic_load_explicit(&future, memory_order_relaxed) != NOT_LOCKED;
}

bool dry_port_is_scarce(void)
{
	return atomic_load_explicit(&limited, memory_order_relaxed) || is_strict_or_locked();
}

bool dry_port_is_tight(void)
{
	return (atomic_load_explicit(&limited, memory_order_relaxed) && atomic_load_explicit(&tight, memory_order_relaxed)) ||
	       is_strict_or_locked();
}

/* ---- one at a time ---------------------------------------------------------- */

static DRY_SLOW enum dry_linux_room begin(size_t size, bool (*is_too_much)(size_t size))
{
	int saved = errno;
	bool too_much;

	if (dry_port_confined())
		return DRY_LINUX_ROOM;
	dry_lock_acquire(&turn);
	too_much = is_too_much(size);
	errno = saved;
	if (!too_much)
		return DRY_LINUX_ROOM_HELD;
	dry_lock_release(&turn);
	return DRY_LINUX_NO_ROOM;
}

enum dry_linux_room dry_linux_replace_begin(void)
{
	if (atomic_load_explicit(&future, memory_order_relaxed) == NOT_LOCKED)
		return DRY_LINUX_ROOM;
	dry_lock_acquire(&turn);
	return DRY_LINUX_ROOM_HELD;
}

enum dry_linux_room dry_linux_map_begin(size_t size)
{
	if (DRY_UNLIKELY(atomic_load_explicit(&future, memory_order_relaxed) != NOT_LOCKED) && size != 0)
		return begin(size, locks_too_much);
	return DRY_LINUX_ROOM;
}

enum dry_linux_room dry_linux_commit_begin(size_t size)
{
	return begin(size, commits_too_much);
}

void dry_linux_room_end(enum dry_linux_room room, int error)
{
	if (DRY_UNLIKELY(error == EAGAIN))
		atomic_store_explicit(&future, REFUSED, memory_order_relaxed);
	if (room == DRY_LINUX_ROOM_HELD)
		dry_lock_release(&turn);
}

void dry_linux_room_forked(void)
{
	dry_linux_locks_future(false);
	dry_lock_forget(&turn);
}
