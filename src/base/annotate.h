/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tells a memory checker that watches the process (AddressSanitizer, ThreadSanitizer, Valgrind's memcheck) which memory is in use.
 *
 * `dry_annotate` is the checker's table, set once before the first heap, or NULL: nobody watches. It is looked at in slow
 * paths only. The hit path has nothing to do with it, because an annotated cache has no array caches: its
 * place in the slots is 0, so that every allocation and free comes to the slow twins.
 *
 * A cache is annotated (debug/hooks.c) unless somebody may look into its free objects: the library itself (CHAIN, OBJFREELIST),
 * a reader (TYPESAFE_BY_RCU), or debugging of its own.
 */
#ifndef DRY_BASE_ANNOTATE_H
#define DRY_BASE_ANNOTATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

struct dry_annotations {
	/* Blocks of the program, by heap. defined: the content is known (zeroed, constructed). */
	void (*given)(const void *heap, void *object, size_t size, bool defined);
	void (*taken)(const void *heap, void *object, size_t size);
	/* Of `old` bytes that were given, `size` remain. */
	void (*cut)(const void *heap, void *object, size_t old, size_t size);
	/* Bytes of a block of `room` bytes that the program may use: those it asked for. */
	size_t (*size)(const void *object, size_t room);
	/* Memory of the library: nobody's, not to be touched; to be used again, content as it is. */
	void (*closed)(void *memory, size_t bytes);
	void (*opened)(void *memory, size_t bytes);
	/* A heap begins or ends; address space where pointers to other memory may lie does. */
	void (*heap)(const void *heap, bool begins);
	void (*space)(void *memory, size_t bytes, bool begins);
};

extern DRY_HIDDEN const struct dry_annotations *dry_annotate;

#endif
