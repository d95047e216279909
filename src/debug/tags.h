/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tags of memory for secure objects of the default heap, where processor and system have them (AArch64's MTE): a read,
 * too, beyond an object or after its free faults, unless it is within the object's last 16 bytes.
 *
 *   object   | what was asked for, up to 16 bytes: a tag from 1 to 15 | slack, canary: 0 |
 *   pointer    the same tag in its upper byte, as long as the program has it; none inside of the allocator
 *
 * A tag is given when an object goes to the program: none that its neighbours on the page have. What is free has 0, and all
 * that is no object. So the allocator needs no tags but to look at objects that the program has, which it does with the
 * checks off.
 *
 * Not tagged: constructed objects, whose content may point into themselves; typed ones in slots of no multiple of 16 bytes; guarded
 * blocks and runs of pages; heaps that the program made; what is allocated by node or in bulk; memory that was mapped after the
 * program put filters on system calls, for these may look at what it is mapped with.
 */
#ifndef DRY_DEBUG_TAGS_H
#define DRY_DEBUG_TAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "port/memory_tag.h"

extern DRY_HIDDEN bool dry_tags_used; /* written at start */

static inline bool dry_tags_are_used(void)
{
	return DRY_HAS_TAGS && DRY_UNLIKELY(dry_tags_used);
}

/* async: a fault comes some time after the access, for less */
enum dry_tagging { DRY_TAGS_NEVER, DRY_TAGS_SYNC, DRY_TAGS_ASYNC };

extern DRY_HIDDEN enum dry_tagging dry_tags_wanted; /* an option, written at start */

/* From now on, where there are any and the process has one thread. true: memory that is committed has to be committed again. */
bool dry_tags_start(void);

/* The address in a pointer of the program's. */
static inline void *dry_tags_strip(const void *pointer)
{
	uintptr_t bits = (uintptr_t)pointer;

	return (void *)(dry_tags_are_used() ? bits & (UINTPTR_MAX >> 8) : bits);
}

/* While they are used: `size` bytes of a slot of `slot` bytes are the program's from now on. Returns its pointer. */
void *dry_tags_give(void *object, size_t size, size_t slot);

/* They are no longer. */
static inline void dry_tags_take(void *object, size_t slot)
{
	if (dry_tags_are_used() && ((uintptr_t)object | slot) % DRY_TAG_BYTES == 0)
		dry_tag_store(object, slot);
}

/* Whether a pointer has the tag of its memory, which can be read. */
static inline bool dry_tags_match(const void *pointer)
{
	return !dry_tags_are_used() || dry_tag_load(pointer) == pointer;
}

/* Whether this thread's accesses are looked at: not between a call with false and one with true. No nesting. */
static inline void dry_tags_look(bool on)
{
	if (dry_tags_are_used())
		dry_tag_checks(on);
}

#endif
