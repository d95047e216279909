/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Slots: what a per-CPU array is indexed by. A slot is a concurrency id, a CPU number, or (without restartable
 * sequences) a number that a thread owns exclusively. The sequences of percpu.h run on the calling thread's current
 * slot.
 */
#ifndef DRY_PORT_SLOTS_H
#define DRY_PORT_SLOTS_H

#include <stdbool.h>

/* Number of slots, 1 to 4096; ids are below it. Constant after dry_port_init(). */
unsigned dry_port_slots(void);

/*
 * Make sure that the calling thread has a slot. true: the sequences work on a
 * slot. false: none is to be had; then the caller goes without array caches. frees: for a free, for which a thread that has
 * none may be refused one: see unix/thread_slots.c.
 * Always true with restartable sequences, though the child of a vfork() is on no slot: its number is dry_port_slots().
 */
bool dry_port_slot_attach(bool frees);

/*
 * Wait until every sequence that was under way at the call has finished or
 * will restart from its first instruction. false if that could not be had in
 * reasonable time: then the caller must assume that some are still under way.
 */
bool dry_port_slot_fence(void);

/*
 * Whether a fence takes microseconds. The first one of a process with threads may take milliseconds. Where that is so and there
 * is one thread yet, its fences are made ready by this call.
 */
bool dry_port_slot_fence_ready(void);

#endif
