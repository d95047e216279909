/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The kernel's one set of caches. */
#ifndef DRY_KERNEL_CACHES_H
#define DRY_KERNEL_CACHES_H

#include "core/cache.h"

extern struct dry_caches *dry_kernel_caches;
extern const struct dry_grace dry_kernel_grace;

/* meta.c: bytes of memory for metadata. */
size_t dry_kernel_meta_bytes(void);

#endif
