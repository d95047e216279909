/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The equations of core's structures. */
#ifndef DRY_CORE_CHECK_H
#define DRY_CORE_CHECK_H

#include "core/cache.h"

/* The equations of a root, tested. NULL, or what does not hold. */
const char *dry_cache_find_wrong(struct dry_cache *cache);

#endif
