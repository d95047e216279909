/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What a library that was opened later, and is perhaps seen by its opener alone, knows: where we are a library of our own. */
#ifndef DRY_MALLOC_OPENED_H
#define DRY_MALLOC_OPENED_H

#include "base/compiler.h"

/* A function of the process's C++ run-time library, by its mangled name, or NULL. */
DRY_WEAK void *dry_opened_cxx(const char *name);

#endif
