/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What core takes from the compiler's header, in a kernel that has none. */
#ifndef DRY_KERNEL_STDINT_H
#define DRY_KERNEL_STDINT_H

#include <linux/limits.h>
#include <linux/types.h>

typedef long intptr_t;

#define UINT8_MAX   U8_MAX
#define UINT16_MAX  U16_MAX
#define UINT32_MAX  U32_MAX
#define UINT64_MAX  U64_MAX
#define UINT64_C(n) n##ull
#define UINT32_C(n) n##u
#define INT64_C(n)  n##ll

#endif
