/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include <linux/stddef.h>
#include <linux/types.h>
