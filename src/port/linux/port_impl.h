/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef DRY_PORT_LINUX_PORT_IMPL_H
#define DRY_PORT_LINUX_PORT_IMPL_H

#include "port/unix/lock.h"

/* dry_port_slot_fence() is a full fence on every thread: arch/generic/percpu.h. */
enum { DRY_PORT_FENCES_ALL = 1 };

#endif
