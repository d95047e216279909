/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* In front of the kernel's own header of this name: its flags, which are macros, and its type. */
#ifndef DRY_TESTS_LINUX_GFP_H
#define DRY_TESTS_LINUX_GFP_H

#include <linux/types.h>

#include <linux/gfp_types.h>

#define DRY_KMEM_GFP_T
#include <drystone/kmem_gfp.h>

#endif
