/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef DRY_PORT_POSIX_PORT_IMPL_H
#define DRY_PORT_POSIX_PORT_IMPL_H

#include "port/unix/lock.h"

/* dry_port_slot_fence() is a full fence on the calling thread alone: arch/generic/percpu.h. */
enum { DRY_PORT_FENCES_ALL = 0 };

#endif
