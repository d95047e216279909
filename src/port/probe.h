/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Probes for tracers (USDT): a nop, and a note in the file that says where it is, what it is called and where its arguments are.
 * The format of the note is that of SystemTap's sys/sdt.h, version 3:
 * https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation
 *
 * A tracer that attaches adds one to the probe's semaphore; while that is 0 a probe costs a load and a branch, and its arguments
 * are not computed. Probes are on slow paths only. Other processors than those below have none.
 */
#ifndef DRY_PORT_PROBE_H
#define DRY_PORT_PROBE_H

#include <stdint.h>

#include "base/compiler.h"

/* provider, name: what it is told. docs/probes.md describes them. */
#define DRY_PROBES(X)                                              \
	X(otel_memory, alloc)     /* sampled block, size, bytes that it stands for */ \
	X(otel_memory, free)      /* sampled block */              \
	X(drystone, refill)       /* cache, object: its array was empty */ \
	X(drystone, slab_made)    /* first page, bytes, cache */   \
	X(drystone, slab_returned) /* first page, bytes, cache */  \
	X(drystone, purge)        /* address, bytes: memory goes back to the system */ \
	X(drystone, cache_made)   /* cache, name, object size */   \
	X(drystone, cache_destroyed) /* cache, name */             \
	X(drystone, failure)      /* bytes that were asked for */

#if defined(__ELF__) && (defined(__x86_64__) || defined(__aarch64__)) && !defined(DRY_NO_PROBES)

#define DRY_PROBE_DECLARE(provider, name) extern volatile unsigned short dry_probe_##provider##_##name DRY_HIDDEN;
DRY_PROBES(DRY_PROBE_DECLARE)
#undef DRY_PROBE_DECLARE

/* clang-format off */
#define DRY_PROBE_NOTE(provider, name, arguments)                          \
	"990: nop\n"                                                       \
	".pushsection .note.stapsdt,\"?\",\"note\"\n"                      \
	".balign 4\n"                                                      \
	".4byte 992f-991f, 994f-993f, 3\n"                                 \
	"991: .asciz \"stapsdt\"\n"                                        \
	"992: .balign 4\n"                                                 \
	"993: .8byte 990b, _.stapsdt.base, dry_probe_" #provider "_" #name "\n" \
	".asciz \"" #provider "\"\n .asciz \"" #name "\"\n .asciz \"" arguments "\"\n" \
	"994: .balign 4\n"                                                 \
	".popsection\n"                                                    \
	".ifndef _.stapsdt.base\n"                                         \
	".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
	".weak _.stapsdt.base\n .hidden _.stapsdt.base\n"                  \
	"_.stapsdt.base: .space 1\n .size _.stapsdt.base, 1\n"             \
	".popsection\n"                                                    \
	".endif\n"
/* clang-format on */

/* Three arguments, of which a probe that has fewer names the first ones only. */
#define DRY_PROBE(provider, name, arguments, a, b, c)                                                                      \
	do {                                                                                                               \
		if (DRY_UNLIKELY(dry_probe_##provider##_##name != 0))                                                      \
			__asm__ volatile(DRY_PROBE_NOTE(provider, name, arguments)                                         \
					 :                                                                                 \
					 : "r"((uint64_t)(a)), "r"((uint64_t)(b)), "r"((uint64_t)(c)));                    \
	} while (0)

#else
#define DRY_PROBE(provider, name, arguments, a, b, c) ((void)(a), (void)(b), (void)(c))
#endif

#define DRY_PROBE_1(provider, name, a)       DRY_PROBE(provider, name, "8@%0", a, 0, 0)
#define DRY_PROBE_2(provider, name, a, b)    DRY_PROBE(provider, name, "8@%0 8@%1", a, b, 0)
#define DRY_PROBE_3(provider, name, a, b, c) DRY_PROBE(provider, name, "8@%0 8@%1 8@%2", a, b, c)

#endif
