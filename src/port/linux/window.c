/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Windows: address space that is reserved bit by bit (docs/design/address-space.md).
 *
 *   0      2/3: programs     25/32 windows  7/8                            top: stack, below it what is mapped
 *   |-------|--heap--> --------|--------------|-----------------------<----------|
 *                              | sparse |
 *
 * Nothing else begins there, on any of the processors, and what is mapped has an eighth of everything to grow down to it.
 * From 3/4 to 25/32 lies the heap of AddressSanitizer on x86-64.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* MAP_FIXED_NOREPLACE */
#endif
#include <errno.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "base/error.h"
#include "port/contract.h"
#include "port/guard.h"
#include "port/linux/room.h"
#include "port/unix/map.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000 /* Linux 4.17; before, what is not known is left out, and the address is a wish */
#endif

#define LITTLE ((size_t)128 << 10) /* small reservations together, after which the limit is asked for */

#define SPARSE_SHARE 8  /* of an eighth, for sparse ones */
#define APART_SHARE  64 /* of all that windows have: at most so much between two */

_Static_assert(DRY_EBUSY == EBUSY && DRY_EAGAIN == EAGAIN && DRY_ENOMEM == ENOMEM, "base/error.h has the values of this libc");

DRY_WEAK void __tsan_init(void);

/* 1/8 of the address space of a process; 0: not known, or ThreadSanitizer has something else in the middle of it. */
static uintptr_t eighth(void)
{
	uintptr_t stack = getauxval(AT_RANDOM); /* the program's first stack ends where all does */

	return stack != 0 && __tsan_init == NULL ? UINT64_C(1) << (dry_log2_floor(stack) - 2) : 0;
}

struct part {
	_Atomic uintptr_t next;  /* windows of one process do not overlap, until there are very many */
	_Atomic uint64_t secret; /* relaxed: whoever reads an older one has another gap */
};

static uintptr_t random_below(uint64_t random, uintptr_t most, size_t align)
{
	return random % (most / align) * align;
}

/*
 * One after the other from a random place below `first` on, after `end` from another one; each a random way behind the one before,
 * or who writes beyond a block would know where tables lie.
 */
static void *next_window(struct part *part, uintptr_t low, uintptr_t first, uintptr_t end, size_t size, size_t align)
{
	uintptr_t at = atomic_load_explicit(&part->next, memory_order_relaxed), start, apart;

	do {
		uint64_t secret = atomic_load_explicit(&part->secret, memory_order_relaxed);
		apart = random_below(dry_mix64(secret + at), (end - low) / APART_SHARE, align);
		start = dry_round_up(at + apart, align);
		if (at < low || start > end - size) {
			secret = dry_port_random();
			start = low + random_below(secret, first - low, align);
			atomic_store_explicit(&part->secret, secret, memory_order_relaxed);
		}
	} while (!atomic_compare_exchange_weak_explicit(&part->next, &at, start + size, memory_order_relaxed,
							memory_order_relaxed));
	return (void *)start;
}

void *dry_port_window(size_t size, size_t align)
{
	static struct part dense;
	uintptr_t part = eighth(), low = 6 * part + part / 4 + part / SPARSE_SHARE, end = 7 * part;

	return size <= part / 2 ? next_window(&dense, low, end - size, end, size, align) : NULL;
}

void *dry_port_sparse_window(size_t size, size_t align)
{
	static struct part sparse;
	uintptr_t part = eighth(), low = 6 * part + part / 4, end = low + part / SPARSE_SHARE;

	return size <= part / SPARSE_SHARE / 4 ? next_window(&sparse, low, low + (end - low) / 2, end, size, align) : NULL;
}

/* Of small ones, now and then. */
static bool is_nearly_full(size_t size)
{
	static _Atomic size_t little;

	if (size < LITTLE && atomic_fetch_add_explicit(&little, size, memory_order_relaxed) + size < LITTLE)
		return false;
	if (dry_linux_is_nearly_full(size, false))
		return true; /* and the next one is looked at again */
	atomic_store_explicit(&little, 0, memory_order_relaxed);
	return false;
}

static int protection(enum dry_access access)
{
	if (access == DRY_ACCESS_WRITE)
		return atomic_load_explicit(&dry_unix_access, memory_order_relaxed);
	return access == DRY_ACCESS_READ ? PROT_READ : PROT_NONE;
}

int dry_port_reserve_at(void *addr, size_t size, enum dry_access access)
{
	enum dry_linux_room room = dry_linux_map_begin(size);
	bool commit = access == DRY_ACCESS_WRITE && !dry_linux_commit_is_plain(size);
	int saved = errno, rc = 0;
	void *got;

	if (room == DRY_LINUX_NO_ROOM)
		return -DRY_EAGAIN;
	got = mmap(addr, size, protection(commit ? DRY_ACCESS_NONE : access),
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	dry_linux_room_end(room, got == MAP_FAILED ? errno : 0);
	if (got == MAP_FAILED && errno == ENOMEM && !dry_port_is_scarce())
		dry_port_find_scarce(); /* a limit that came, or was lowered */
	if (got == MAP_FAILED)
		rc = errno == EEXIST ? -DRY_EBUSY : errno == EAGAIN ? -DRY_EAGAIN : -DRY_ENOMEM;
	else if (got != addr)
		rc = munmap(got, size) == 0 ? -DRY_EBUSY : -DRY_ENOMEM;
	else if (is_nearly_full(size) && munmap(got, size) == 0)
		rc = -DRY_ENOMEM;
	else if (commit && dry_port_commit(got, size) != 0)
		rc = munmap(got, size) == 0 ? -DRY_ENOMEM : -DRY_EBUSY;
	dry_linux_reserves(size);
	errno = saved;
	return rc;
}
