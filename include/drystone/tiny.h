/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tiny.h - what libdrystone-tiny and libdrystone-sequential have besides drystone.h.
 */
#ifndef DRYSTONE_TINY_H
#define DRYSTONE_TINY_H

#include <drystone/drystone.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * More memory for a heap (NULL: the default one): a further pool, which need not be near the others. No block lies in
 * two. A heap has at most 8 pools; one pool has at most 32255 pages, what is more becomes further pools.
 * 0, -EINVAL (less than 2 KiB), -ENOMEM (8 pools).
 */
int dry_heap_add(dry_heap *heap, void *memory, size_t size);

#ifdef __cplusplus
}
#endif
#endif
