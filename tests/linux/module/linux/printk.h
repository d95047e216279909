/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* See linux/module.h. */
#include <linux/module.h>
