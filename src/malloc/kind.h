/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Blocks that are freed by another family than they were allocated by: malloc, new and new[] each are one. Known of
 * debugged blocks with an owner, of secure ones and of guarded ones under secure:1; kept where those are kept.
 *
 * Reported is what is sure to be wrong. Between new and new[] that is any; but a module that brings operators of its own, hidden
 * from others, allocates for them by malloc: where there is one, malloc and new may rightly meet.
 */
#ifndef DRY_MALLOC_KIND_H
#define DRY_MALLOC_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/kind.h"

/* 0, or where kinds are kept UINTPTR_MAX: no new is then a plain one, with a block above it. Written at start. */
extern DRY_HIDDEN uintptr_t dry_noted_below;

static inline bool dry_kinds_are_kept(void)
{
	return DRY_UNLIKELY(dry_noted_below != 0);
}

/* From now on; at start. */
void dry_kinds_keep(void);

/* A block of malloc's is one of this kind. */
DRY_SLOW void dry_kind_note(void *block, enum dry_kind kind);

/* Any pointer is about to be freed as one of this kind, by a function of this name: a report if it is of another. What it was. */
DRY_SLOW enum dry_kind dry_kind_free(void *pointer, enum dry_kind kind, const char *by);

#endif
