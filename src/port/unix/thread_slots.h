/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Slots that threads own exclusively, for ports on pthreads. Slot 0 is nobody's.
 */
#ifndef DRY_PORT_UNIX_THREAD_SLOTS_H
#define DRY_PORT_UNIX_THREAD_SLOTS_H

#include <stdbool.h>

#include "percpu.h"

#define DRY_THREAD_SLOTS 1024 /* threads beyond go without array caches */

/* Give the calling thread a slot if it has none. false: none is left, or the thread is exiting. */
bool dry_thread_slot_attach(void);

/* Wait, for a tenth of a second, until no owner is inside a sequence. false: one still is. */
bool dry_thread_slots_quiet(void);

/* In the child of a fork: all slots but the caller's are nobody's again. */
void dry_thread_slots_forked(void);

#endif
