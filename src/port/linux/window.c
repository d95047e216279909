/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Windows: address space that is reserved bit by bit (docs/design/address-space.md).
 *
 *   0      2/3: programs     25/32 windows  7/8                            top: stack, below it what is mapped
 *   |-------|--heap--> --------|--------------|-----------------------<----------|
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
#include "base/error.h"
#include "port/contract.h"
#include "port/guard.h"
#include "port/linux/room.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000 /* Linux 4.17; before, what is not known is left out, and the address is a wish */
#endif

#define LITTLE ((size_t)128 << 10) /* of that no limit is asked: tables, of 64 KiB and two pages at first */

_Static_assert(DRY_EBUSY == EBUSY && DRY_EAGAIN == EAGAIN && DRY_ENOMEM == ENOMEM, "base/error.h has the values of this libc");

void *dry_port_window(size_t size, size_t align)
{
	static _Atomic uintptr_t next; /* windows of one process do not overlap, until there are very many */
	uintptr_t stack = getauxval(AT_RANDOM), eighth, low, at, start;

	if (stack == 0)
		return NULL;
	eighth = UINT64_C(1) << (dry_log2_floor(stack) - 2); /* the program's first stack ends where all does */
	if (size > eighth / 2)
		return NULL;
	low = 6 * eighth + eighth / 4;
	at = atomic_load_explicit(&next, memory_order_relaxed);
	do {
		start = at;
		if (at < low || at > 7 * eighth - size)
			start = low + dry_port_random() % ((7 * eighth - low - size) / align) * align;
	} while (!atomic_compare_exchange_weak_explicit(&next, &at, dry_round_up(start + size, align), memory_order_relaxed,
							memory_order_relaxed));
	return (void *)start;
}

int dry_port_reserve_at(void *addr, size_t size, bool readable)
{
	enum dry_linux_room room = dry_linux_map_begin(size);
	int saved = errno, rc = 0;
	void *got;

	if (room == DRY_LINUX_NO_ROOM)
		return -DRY_EAGAIN;
	got = mmap(addr, size, readable ? PROT_READ : PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	dry_linux_room_end(room, got == MAP_FAILED ? errno : 0);
	if (got == MAP_FAILED)
		rc = errno == EEXIST ? -DRY_EBUSY : errno == EAGAIN ? -DRY_EAGAIN : -DRY_ENOMEM;
	else if (got != addr)
		rc = munmap(got, size) == 0 ? -DRY_EBUSY : -DRY_ENOMEM;
	else if (size >= LITTLE && dry_linux_is_nearly_full(size, false) && munmap(got, size) == 0)
		rc = -DRY_ENOMEM;
	dry_linux_reserves(size);
	errno = saved;
	return rc;
}
