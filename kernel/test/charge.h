/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef DRY_KERNEL_TEST_CHARGE_H
#define DRY_KERNEL_TEST_CHARGE_H

/* Objects that are the current group's only once they are there: 480 KiB, until they are freed. */
void dry_charge_begin(void);
void dry_charge_end(void);

#endif
