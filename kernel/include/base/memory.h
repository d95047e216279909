/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* In place of src/base/memory.h: the kernel's may be macros. */
#include <linux/string.h>
