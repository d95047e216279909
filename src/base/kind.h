/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What a general block was allocated by, where that is kept; a block is of malloc's family until somebody says otherwise. */
#ifndef DRY_BASE_KIND_H
#define DRY_BASE_KIND_H

enum dry_kind { DRY_KIND_MALLOC = 0, DRY_KIND_NEW, DRY_KIND_NEW_ARRAY, DRY_KIND_UNKNOWN };

#endif
