/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* As a header of a kernel or of its tools: flags as macros, with Linux 6.1's values. */
#ifndef FOREIGN_H
#define FOREIGN_H
typedef unsigned int gfp_t;
#define ___GFP_ZERO         0x100u
#define __GFP_ZERO          ((gfp_t)___GFP_ZERO)
#define __GFP_NOFAIL        ((gfp_t)0x8000u)
#define __GFP_DIRECT_RECLAIM ((gfp_t)0x400u)
#define GFP_KERNEL          ((gfp_t)0xcc0u)
#define GFP_ATOMIC          ((gfp_t)0xa20u)
#define GFP_NOWAIT          ((gfp_t)0x800u)
#endif
