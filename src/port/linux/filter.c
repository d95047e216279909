/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Filters on system calls (seccomp) end a process for a call that its author did not think of. Who installs one while
 * the process runs first calls prctl(), which is replaced (override.c): from then on only what libc's own malloc calls is called.
 * Whether there was one before the program began is read in /proc when it is first of interest; the calls for
 * that are those that the dynamic linker has made. Such a filter is for the whole of the program: what that has asked for so far
 * may be asked for again.
 */
#include "port/linux/filter.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "port/contract.h"
#include "port/linux/lines.h"
#include "port/linux/thread.h"
#include "port/unix/map.h"

#define ASK_AGAIN 100 /* ms */

extern char __libc_single_threaded DRY_WEAK; /* glibc's */

static struct dry_lock lock = DRY_LOCK_INIT(DRY_RANK_PORT);
static struct dry_lock looks = DRY_LOCK_INIT(DRY_RANK_PORT); /* one of its own, for a fence takes milliseconds */
/*
 * FILTERED: since before the program began; what is not known to be free counts as that. CONFINED: the program has asked for one.
 * Written with the lock held, but at the end; read without: relaxed, a hint.
 */
enum state { UNKNOWN, NO_FILTER, FILTERED, CONFINED };
static _Atomic enum state state;

static void set_locked(int value)
{
	atomic_store(&state, value); /* seq_cst: rest.c */
}

static int get(void)
{
	return (int)atomic_load_explicit(&state, memory_order_relaxed);
}

static bool is_free_locked(void)
{
	static struct dry_linux_lines lines; /* too much for a small stack */
	int saved = errno;
	bool none = false;

	if (dry_linux_lines_open(&lines, DRY_LINUX_STATUS)) {
		none = dry_linux_lines_number(&lines, "Seccomp:", 10, 1) == 0;
		dry_linux_lines_close(&lines);
	}
	errno = saved;
	return none;
}

bool dry_linux_free_begin(void)
{
	dry_lock_acquire(&lock);
	if (get() == UNKNOWN)
		set_locked(is_free_locked() ? NO_FILTER : FILTERED);
	if (get() == NO_FILTER)
		return true;
	dry_lock_release(&lock);
	return false;
}

bool dry_linux_look_begin(void)
{
	dry_lock_acquire(&looks);
	if (get() != CONFINED)
		return true;
	dry_lock_release(&looks);
	return false;
}

void dry_linux_look_end(void)
{
	dry_lock_release(&looks);
}

void dry_linux_free_end(void)
{
	dry_lock_release(&lock);
}

_Thread_local unsigned dry_linux_vforks;

bool dry_port_restricted(void)
{
	/* The child of a vfork() has other rights and limits than its parent, and a thread that it begins ends with it. */
	if (dry_linux_vforks != 0)
		return true;
	if (get() == UNKNOWN && dry_linux_free_begin())
		dry_linux_free_end();
	return get() != NO_FILTER;
}

bool dry_port_confined(void)
{
	return dry_linux_vforks != 0 || atomic_load(&state) == CONFINED; /* seq_cst: rest.c */
}

/* As the kernel counts threads of the process; 0: it is not asked, or does not tell. */
static uint64_t count_threads(void)
{
	static struct dry_linux_lines lines; /* one look at a time */
	uint64_t threads = 0;
	int saved = errno;

	if (!dry_linux_look_begin())
		return 0;
	if (dry_linux_lines_open(&lines, DRY_LINUX_STATUS)) {
		threads = dry_linux_lines_number(&lines, "Threads:", 10, 0);
		dry_linux_lines_close(&lines);
	}
	errno = saved;
	dry_linux_look_end();
	return threads;
}

/* musl does not tell of threads: the kernel is asked, not more often than it is worth. */
static bool is_known_to_have_threads(void)
{
	static _Atomic uint64_t asked;
	static _Atomic bool known;
	uint64_t now;

	if (&__libc_single_threaded != NULL)
		return !__libc_single_threaded;
	now = dry_port_clock_ms();
	/* relaxed: hints */
	if (!atomic_load_explicit(&known, memory_order_relaxed) &&
	    now - atomic_exchange_explicit(&asked, now, memory_order_relaxed) >= ASK_AGAIN && count_threads() > 1)
		atomic_store_explicit(&known, true, memory_order_relaxed);
	return atomic_load_explicit(&known, memory_order_relaxed);
}

/* The child of a vfork() has its parent's memory, and that one may have threads. */
bool dry_linux_is_counted_alone(void)
{
	return &__libc_single_threaded == NULL && dry_linux_vforks == 0 && count_threads() == 1;
}

bool dry_port_thread_allowed(void)
{
	return !dry_port_confined() && (!dry_port_restricted() || is_known_to_have_threads());
}

void dry_linux_filter_forked(void)
{
	dry_lock_forget(&lock);
	dry_lock_forget(&looks);
}

/* exit() in a handler may have come to who has the lock. */
void dry_linux_filter_unsure(void)
{
	enum state unknown = UNKNOWN;

	atomic_compare_exchange_strong(&state, &unknown, CONFINED); /* seq_cst, as set_locked() */
}

bool dry_linux_filter_comes(void)
{
	if (dry_linux_vforks != 0)
		return false;
	dry_lock_acquire(&lock);
	set_locked(CONFINED);
	atomic_store_explicit(&dry_unix_access, PROT_READ | PROT_WRITE, memory_order_relaxed); /* filters know no others */
	dry_lock_release(&lock);
	dry_lock_acquire(&looks); /* who has it now looked before */
	dry_lock_release(&looks);
	return true;
}
