/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The processes that run on drystone, as a snapshot with one row for each. */
#ifndef DRYSTONE_PROCESSES_H
#define DRYSTONE_PROCESSES_H

#include "figures.h"

/*
 * Programs that have the library linked in and are stripped are not among them: that needs a look at all their data.
 * *snapshot is overwritten. Returns how many processes could not be read for want of permission.
 */
unsigned processes_read(struct snapshot *snapshot);

#endif
