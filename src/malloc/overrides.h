/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef DRY_MALLOC_OVERRIDES_H
#define DRY_MALLOC_OVERRIDES_H

#include <stddef.h>

#include "base/compiler.h"

/*
 * Not NULL where this copy of the library replaces malloc() (override.c). One that does not is not told of filters to come, nor of
 * what needs one thread (port/linux/override.c).
 */
DRY_HIDDEN extern const char dry_overrides __attribute__((weak));

#endif
