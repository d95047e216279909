/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The forms of operator new that throw nothing. By the standard they call the plain form and catch what that, or a new-handler,
 * throws, which C cannot do: only a first try is made here, and all else is for the C++ run-time library's own form, which calls
 * our plain one. By itself that one would do, but before GCC 9 it called malloc(), of another kind than delete is for
 * (malloc/kind.h).
 *
 * In the shared library only: a program that we are linked into has that library's form, and no second one of that name.
 */
#include <stdatomic.h>

#include "malloc/cxx.h"
#include "malloc/opened.h"

typedef void *form(size_t size, const void *tag);
typedef void *form_al(size_t size, size_t align, const void *tag);

DECLARE(void *, new_object, "_ZnwmRKSt9nothrow_t", (size_t size, const void *tag));
DECLARE(void *, new_object_al, "_ZnwmSt11align_val_tRKSt9nothrow_t", (size_t size, size_t align, const void *tag));
DECLARE(void *, new_array, "_ZnamRKSt9nothrow_t", (size_t size, const void *tag));
DECLARE(void *, new_array_al, "_ZnamSt11align_val_tRKSt9nothrow_t", (size_t size, size_t align, const void *tag));

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattribute-alias"
#pragma GCC diagnostic ignored "-Wpragmas"
OURS(our_new, "_ZnwmRKSt9nothrow_t");
OURS(our_new_al, "_ZnwmSt11align_val_tRKSt9nothrow_t");
OURS(our_array, "_ZnamRKSt9nothrow_t");
OURS(our_array_al, "_ZnamSt11align_val_tRKSt9nothrow_t");
#pragma GCC diagnostic pop

bool dry_nothrow_is_ours(void)
{
	return IS_OURS(new_object, our_new) && IS_OURS(new_object_al, our_new_al) && IS_OURS(new_array, our_array) &&
	       IS_OURS(new_array_al, our_array_al);
}

/* A C++ library stays where it is once it was asked for something (shared_cxx.c). relaxed: an address. */
static void *library_form(void *_Atomic *known, const char *name)
{
	void *found = atomic_load_explicit(known, memory_order_relaxed);

	if (found == NULL) {
		found = dry_opened_cxx(name);
		atomic_store_explicit(known, found, memory_order_relaxed);
	}
	return found;
}

static DRY_SLOW void *ask(size_t size, const void *tag, enum dry_kind kind)
{
	static void *_Atomic known[2];
	bool array = kind == DRY_KIND_NEW_ARRAY;
	form *library;

	if (dry_new_is_final(0, kind))
		return NULL;
	*(void **)&library = library_form(&known[array], array ? "_ZnamRKSt9nothrow_t" : "_ZnwmRKSt9nothrow_t");
	return library != NULL ? dry_new_note(library(size, tag), kind) : dry_new_uncaught(size, 0, kind);
}

static DRY_SLOW void *ask_al(size_t size, size_t align, const void *tag, enum dry_kind kind)
{
	static void *_Atomic known[2];
	bool array = kind == DRY_KIND_NEW_ARRAY;
	form_al *library;

	if (dry_new_is_final(align, kind))
		return NULL;
	*(void **)&library = library_form(&known[array], array ? "_ZnamSt11align_val_tRKSt9nothrow_t" :
								 "_ZnwmSt11align_val_tRKSt9nothrow_t");
	return library != NULL ? dry_new_note(library(size, align, tag), kind) : dry_new_uncaught(size, align, kind);
}

OPERATOR(void *, new_object, "_ZnwmRKSt9nothrow_t", (size_t size, const void *tag))
{
	void *object = dry_new_once(size, 0, DRY_KIND_NEW);

	return DRY_LIKELY(object != NULL) ? object : ask(size, tag, DRY_KIND_NEW);
}

OPERATOR(void *, new_object_al, "_ZnwmSt11align_val_tRKSt9nothrow_t", (size_t size, size_t align, const void *tag))
{
	void *object = dry_new_once(size, align, DRY_KIND_NEW);

	return DRY_LIKELY(object != NULL) ? object : ask_al(size, align, tag, DRY_KIND_NEW);
}

OPERATOR(void *, new_array, "_ZnamRKSt9nothrow_t", (size_t size, const void *tag))
{
	void *object = dry_new_once(size, 0, DRY_KIND_NEW_ARRAY);

	return DRY_LIKELY(object != NULL) ? object : ask(size, tag, DRY_KIND_NEW_ARRAY);
}

OPERATOR(void *, new_array_al, "_ZnamSt11align_val_tRKSt9nothrow_t", (size_t size, size_t align, const void *tag))
{
	void *object = dry_new_once(size, align, DRY_KIND_NEW_ARRAY);

	return DRY_LIKELY(object != NULL) ? object : ask_al(size, align, tag, DRY_KIND_NEW_ARRAY);
}
