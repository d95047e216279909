/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Hits of the one set of caches whose areas threads remember, a process's main heap. The way to an object is a chain of
 * loads that a call waits for: number of the CPU, slots[], the word, the entry. A thread that remembers the area it found last
 * has its address at once, and looks beside the chain whether it still is that of its slot, whose number is in the area.
 *
 *   remember   a slow call, of the area in slots[]. It may be another slot's by then, or be stopped: the sequences find out
 *   stop       before its fence, writes a number that no slot has into each area, as it replaces what is in slots[]. Sequences that
 *              begin later look at the number after they have announced themselves, as they would look at slots[]
 *   area       stays where it is until the process ends
 *
 * Who remembers nothing, or the wrong area, goes the slow way once, as with an empty array.
 */
#ifndef DRY_PORT_HERE_H
#define DRY_PORT_HERE_H

#include "percpu.h"

#define DRY_AREA_NUMBER 16                   /* bytes from an area's start; the first array there is always empty */
#define DRY_NUMBER_NOWHERE UINT32_MAX

#ifndef DRY_PERCPU_REMEMBERS
#define dry_percpu_pop_here  dry_percpu_pop
#define dry_percpu_push_here dry_percpu_push
static inline void dry_percpu_remember(const char *area)
{
	(void)area;
}
static inline bool dry_percpu_is_new(void)
{
	return false;
}
static inline void dry_percpu_forget(void)
{
}
#endif

/* Who owns its slot is on none until dry_port_slot_attach(). The number is nobody's where the kernel says which slot it is. */
static inline void dry_percpu_park(void)
{
#ifdef DRY_PERCPU_PARKS
	dry_slot_tls.id = 0;
#endif
}

/*
 * The thread's next call finds no array, so that it asks the slab: what was freed last is no array's newest. Without effect where
 * it has no slot of its own, but for hits of the set whose areas it remembers. It is new no more.
 */
static inline void dry_percpu_settle(void)
{
	dry_percpu_park();
	dry_percpu_forget();
}

#endif
