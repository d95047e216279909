/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The few errno values that the core returns; the hosted ports assert that they are libc's. */
#ifndef DRY_BASE_ERROR_H
#define DRY_BASE_ERROR_H

enum { DRY_EIO = 5, DRY_EAGAIN = 11, DRY_ENOMEM = 12, DRY_EFAULT = 14, DRY_EBUSY = 16, DRY_EINVAL = 22, DRY_EOPNOTSUPP = 95 };

#endif
