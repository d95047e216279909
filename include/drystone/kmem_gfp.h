/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * kmem_gfp.h - the kernel's allocation flags, with the values that they have in Linux 6.1.
 *
 * They are constants of an enumeration and not macros, so that a header that defines them as macros may come before this
 * one (then its values hold here) or after it. A program whose headers define gfp_t otherwise than as unsigned int
 * defines DRY_KMEM_GFP_T before.
 *
 * What they mean here: __GFP_ZERO clears; __GFP_NOFAIL ends the process instead of returning NULL; __GFP_DIRECT_RECLAIM
 * (in GFP_KERNEL, not in GFP_ATOMIC and GFP_NOWAIT) lets shrinkers run and a mempool wait. Nothing else has a meaning.
 */
#ifndef DRYSTONE_KMEM_GFP_H
#define DRYSTONE_KMEM_GFP_H

#include <stdbool.h>

#ifndef DRY_KMEM_GFP_T
#define DRY_KMEM_GFP_T
typedef unsigned int gfp_t;
#endif

enum {
	KMEM_GFP_NONE = 0,
#ifndef __GFP_DMA
	__GFP_DMA = 0x1,
#endif
#ifndef __GFP_HIGHMEM
	__GFP_HIGHMEM = 0x2,
#endif
#ifndef __GFP_DMA32
	__GFP_DMA32 = 0x4,
#endif
#ifndef __GFP_MOVABLE
	__GFP_MOVABLE = 0x8,
#endif
#ifndef __GFP_RECLAIMABLE
	__GFP_RECLAIMABLE = 0x10,
#endif
#ifndef __GFP_HIGH
	__GFP_HIGH = 0x20,
#endif
#ifndef __GFP_IO
	__GFP_IO = 0x40,
#endif
#ifndef __GFP_FS
	__GFP_FS = 0x80,
#endif
#ifndef __GFP_ZERO
	__GFP_ZERO = 0x100,
#endif
#ifndef __GFP_ATOMIC
	__GFP_ATOMIC = 0x200,
#endif
#ifndef __GFP_DIRECT_RECLAIM
	__GFP_DIRECT_RECLAIM = 0x400,
#endif
#ifndef __GFP_KSWAPD_RECLAIM
	__GFP_KSWAPD_RECLAIM = 0x800,
#endif
#ifndef __GFP_WRITE
	__GFP_WRITE = 0x1000,
#endif
#ifndef __GFP_NOWARN
	__GFP_NOWARN = 0x2000,
#endif
#ifndef __GFP_RETRY_MAYFAIL
	__GFP_RETRY_MAYFAIL = 0x4000,
#endif
#ifndef __GFP_NOFAIL
	__GFP_NOFAIL = 0x8000,
#endif
#ifndef __GFP_NORETRY
	__GFP_NORETRY = 0x10000,
#endif
#ifndef __GFP_MEMALLOC
	__GFP_MEMALLOC = 0x20000,
#endif
#ifndef __GFP_COMP
	__GFP_COMP = 0x40000,
#endif
#ifndef __GFP_NOMEMALLOC
	__GFP_NOMEMALLOC = 0x80000,
#endif
#ifndef __GFP_HARDWALL
	__GFP_HARDWALL = 0x100000,
#endif
#ifndef __GFP_THISNODE
	__GFP_THISNODE = 0x200000,
#endif
#ifndef __GFP_ACCOUNT
	__GFP_ACCOUNT = 0x400000,
#endif
#ifndef __GFP_NOLOCKDEP
	__GFP_NOLOCKDEP = 0, /* without lock debugging */
#endif
#ifndef __GFP_RECLAIM
	__GFP_RECLAIM = 0xc00, /* both of them */
#endif
#ifndef GFP_ATOMIC
	GFP_ATOMIC = 0xa20,
#endif
#ifndef GFP_KERNEL
	GFP_KERNEL = 0xcc0,
#endif
#ifndef GFP_KERNEL_ACCOUNT
	GFP_KERNEL_ACCOUNT = 0x400cc0,
#endif
#ifndef GFP_NOWAIT
	GFP_NOWAIT = 0x800,
#endif
#ifndef GFP_NOIO
	GFP_NOIO = 0xc00,
#endif
#ifndef GFP_NOFS
	GFP_NOFS = 0xc40,
#endif
#ifndef GFP_USER
	GFP_USER = 0x100cc0,
#endif
#ifndef GFP_DMA
	GFP_DMA = 0x1,
#endif
#ifndef GFP_DMA32
	GFP_DMA32 = 0x4,
#endif
#ifndef GFP_HIGHUSER
	GFP_HIGHUSER = 0x100cc2,
#endif
	KMEM_GFP_END = 0x8000000
};

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the caller may be made to wait. */
static inline bool gfpflags_allow_blocking(const gfp_t flags)
{
	return (flags & (gfp_t)__GFP_DIRECT_RECLAIM) != 0;
}

#ifdef __cplusplus
}
#endif
#endif
