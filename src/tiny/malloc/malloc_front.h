/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What stands behind the malloc family in the libraries to preload: the default heap, one lock. See src/malloc/front/. */
#ifndef DRY_MALLOC_FRONT_H
#define DRY_MALLOC_FRONT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/kind.h"
#include "port/contract.h"
#include "tiny/tiny.h"

static inline void *fast_malloc(size_t size)
{
	return dry_alloc(NULL, size);
}

static inline void fast_free(void *object)
{
	int saved = dry_port_get_errno();

	dry_free(NULL, object);
	dry_port_set_errno(saved);
}

static inline void fast_free_sized(void *object, size_t size, size_t align)
{
	(void)size, (void)align;
	fast_free(object);
}

static inline bool fast_push(void *object)
{
	fast_free(object);
	return true;
}

/* No kinds are kept. */
#define front_noted_below ((uintptr_t)0)

static inline void front_note(void *object, enum dry_kind kind)
{
	(void)object, (void)kind;
}

static inline enum dry_kind front_free_as(void *object, enum dry_kind kind, const char *by)
{
	(void)object, (void)kind, (void)by;
	return DRY_KIND_UNKNOWN;
}

static inline bool front_size_holds(void *object, size_t size, size_t align)
{
	(void)object, (void)size, (void)align;
	return true;
}

static inline void *front_zalloc(size_t size)
{
	return dry_zalloc(NULL, size);
}

static inline void *front_aligned(size_t align, size_t size)
{
	return dry_alloc_aligned(NULL, align, size);
}

static inline void *front_realloc(void *object, size_t size)
{
	int saved = dry_port_get_errno();
	void *moved = dry_realloc(NULL, object, size);

	dry_port_set_errno(moved != NULL ? saved : DRY_ENOMEM);
	return moved;
}

static inline size_t front_usable(const void *object)
{
	return dry_usable_size(NULL, object);
}

#endif
