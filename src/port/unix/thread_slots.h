/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Slots that threads own exclusively, for ports on pthreads. Slot 0 is nobody's.
 */
#ifndef DRY_PORT_UNIX_THREAD_SLOTS_H
#define DRY_PORT_UNIX_THREAD_SLOTS_H

#include <stdbool.h>

#include "percpu.h"

#define DRY_THREAD_SLOTS 1024       /* threads beyond go without array caches */
#define DRY_SLOT_REFUSED UINT32_MAX /* dry_slot_tls.state: it gets none */

/* Give the calling thread a slot if it has none; frees: for a free. false: none is left, or the thread may be ending. */
bool dry_thread_slot_attach(bool frees);

/* Until it is called again with what it returned, the calling thread gets none. */
uint32_t dry_thread_slot_refuse(uint32_t state);

/* Wait, for a tenth of a second, until no owner is inside a sequence. false: one still is. */
bool dry_thread_slots_quiet(void);

/* In the child of a fork: all slots but the caller's are nobody's again. */
void dry_thread_slots_forked(void);

#endif
