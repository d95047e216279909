/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef DRY_KERNEL_TEST_MEASURE_H
#define DRY_KERNEL_TEST_MEASURE_H

/* Writes what the documents measured to the log: N allocations, then N frees; pairs; by size. */
void dry_measure(void);

#endif
