/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The caches of the running kernel. */
#ifndef DRYSTONE_KERNEL_H
#define DRYSTONE_KERNEL_H

#include "figures.h"

/* *snapshot is overwritten. NULL, or why it could not be read. */
const char *kernel_read(struct snapshot *snapshot);

#endif
