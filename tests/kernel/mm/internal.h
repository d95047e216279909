/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the files of kernel/ ask for of the kernel's mm/internal.h is in mock.h. */
