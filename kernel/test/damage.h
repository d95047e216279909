/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef DRY_KERNEL_TEST_DAMAGE_H
#define DRY_KERNEL_TEST_DAMAGE_H

/* Frees objects wrongly, in ways that drystone tells; with another allocator this is damage indeed. */
#include <linux/types.h>

void dry_damage(bool letters); /* letters: caches have red zones and poison */

#endif
