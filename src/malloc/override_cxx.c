/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * C++ new and delete, by their mangled names (Itanium ABI, LP64), so that the
 * library needs no C++ run-time library. Where the program has one, a failing
 * new calls the new_handler and throws std::bad_alloc through it, also where it came with a plug-in only.
 *
 * The forms of new that throw nothing are that library's, which come here all the same, or shared_nothrow.c's.
 */
#include <stddef.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/fatal.h"
#include "base/kind.h"
#include "malloc/cxx.h"
#include "malloc/opened.h"
#include "malloc_front.h"
#include "port/contract.h"

/* C23; libc's header may not have them */
void free_aligned_sized(void *object, size_t align, size_t size);

typedef void (*new_handler)(void);
DRY_WEAK new_handler get_new_handler(void) __asm__("_ZSt15get_new_handlerv");
DRY_WEAK void throw_bad_alloc(void) __asm__("_ZSt17__throw_bad_allocv");

/* align 0: as malloc. */
static void *try_once(size_t size, size_t align)
{
	return align == 0 ? malloc(size) : aligned_alloc(align, size);
}

typedef new_handler handler_of(void);

/* NULL: there is no C++ library. What was not there when the program started may be now. */
static DRY_SLOW handler_of *handler_getter(void)
{
	handler_of *get = get_new_handler;

	if (get == NULL && dry_opened_cxx != NULL)
		*(void **)&get = dry_opened_cxx("_ZSt15get_new_handlerv");
	return get;
}

/* NULL: there is no handler, or no longer. */
static DRY_SLOW void *ask_handlers(size_t size, size_t align)
{
	handler_of *get = handler_getter();

	for (;;) {
		new_handler handler = get != NULL ? get() : NULL;
		if (handler == NULL)
			return NULL;
		handler();
		void *object = try_once(size, align);
		if (object != NULL)
			return object;
	}
}

static DRY_SLOW void *insist(size_t size, size_t align)
{
	void (*throw_one)(void) = throw_bad_alloc;
	void *object = ask_handlers(size, align);

	if (object != NULL)
		return object;
	if (throw_one == NULL && dry_opened_cxx != NULL)
		*(void **)&throw_one = dry_opened_cxx("_ZSt17__throw_bad_allocv");
	if (throw_one != NULL)
		throw_one();
	dry_warn("operator new: out of memory, and no C++ run-time library to throw with");
	dry_port_abort();
}

DECLARE(void *, new_object, "_Znwm", (size_t size));
DECLARE(void *, new_object_al, "_ZnwmSt11align_val_t", (size_t size, size_t align));
DECLARE(void *, new_array, "_Znam", (size_t size));
DECLARE(void *, new_array_al, "_ZnamSt11align_val_t", (size_t size, size_t align));
DECLARE(void, delete_object, "_ZdlPv", (void *object));
DECLARE(void, delete_object_al, "_ZdlPvSt11align_val_t", (void *object, size_t align));
DECLARE(void, delete_array, "_ZdaPv", (void *object));
DECLARE(void, delete_array_al, "_ZdaPvSt11align_val_t", (void *object, size_t align));

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattribute-alias" /* an address to compare with, never called */
#pragma GCC diagnostic ignored "-Wpragmas"
OURS(our_new, "_Znwm");
OURS(our_new_al, "_ZnwmSt11align_val_t");
OURS(our_new_array, "_Znam");
OURS(our_new_array_al, "_ZnamSt11align_val_t");
OURS(our_object, "_ZdlPv");
OURS(our_object_al, "_ZdlPvSt11align_val_t");
OURS(our_array, "_ZdaPv");
OURS(our_array_al, "_ZdaPvSt11align_val_t");
#pragma GCC diagnostic pop

/* Blocks of a program that has replaced some, and what those do with ours, are of no kind. */
static bool keeps_kinds(void)
{
	return front_noted_below != 0 && IS_OURS(new_object, our_new) && IS_OURS(new_object_al, our_new_al) &&
	       IS_OURS(new_array, our_new_array) && IS_OURS(new_array_al, our_new_array_al) &&
	       IS_OURS(delete_object, our_object) && IS_OURS(delete_object_al, our_object_al) &&
	       IS_OURS(delete_array, our_array) && IS_OURS(delete_array_al, our_array_al) &&
	       (dry_nothrow_is_ours == NULL || dry_nothrow_is_ours());
}

/* ---- new ---------------------------------------------------------------------------------- */

static DRY_SLOW void *finish(void *object, size_t size, size_t align, enum dry_kind kind)
{
	if (object == NULL)
		object = insist(size, align);
	if (keeps_kinds())
		front_note(object, kind);
	return object;
}

DRY_FAST void *allocate(size_t size, size_t align, enum dry_kind kind)
{
	void *object = try_once(size, align);

	return DRY_LIKELY((uintptr_t)object > front_noted_below) ? object : finish(object, size, align, kind);
}

OPERATOR(void *, new_object, "_Znwm", (size_t size))
{
	return allocate(size, 0, DRY_KIND_NEW);
}

OPERATOR(void *, new_object_al, "_ZnwmSt11align_val_t", (size_t size, size_t align))
{
	return allocate(size, align, DRY_KIND_NEW);
}

OPERATOR(void *, new_array, "_Znam", (size_t size))
{
	return IS_OURS(new_object, our_new) ? allocate(size, 0, DRY_KIND_NEW_ARRAY) : new_object(size);
}

OPERATOR(void *, new_array_al, "_ZnamSt11align_val_t", (size_t size, size_t align))
{
	return IS_OURS(new_object_al, our_new_al) ? allocate(size, align, DRY_KIND_NEW_ARRAY) : new_object_al(size, align);
}

/* ---- for the forms that throw nothing ---------------------------------------------------------- */

static bool is_new_ours(size_t align, enum dry_kind kind)
{
	if (align == 0)
		return IS_OURS(new_object, our_new) && (kind == DRY_KIND_NEW || IS_OURS(new_array, our_new_array));
	return IS_OURS(new_object_al, our_new_al) && (kind == DRY_KIND_NEW || IS_OURS(new_array_al, our_new_array_al));
}

void *dry_new_note(void *object, enum dry_kind kind)
{
	if (object != NULL && keeps_kinds())
		front_note(object, kind);
	return object;
}

void *dry_new_once(size_t size, size_t align, enum dry_kind kind)
{
	void *object = is_new_ours(align, kind) ? try_once(size, align) : NULL;

	return DRY_LIKELY(front_noted_below == 0) ? object : dry_new_note(object, kind);
}

bool dry_new_is_final(size_t align, enum dry_kind kind)
{
	handler_of *get = handler_getter();

	return is_new_ours(align, kind) && (get == NULL || get() == NULL);
}

void *dry_new_uncaught(size_t size, size_t align, enum dry_kind kind)
{
	if (is_new_ours(align, kind))
		return dry_new_note(ask_handlers(size, align), kind);
	if (align == 0)
		return kind == DRY_KIND_NEW ? new_object(size) : new_array(size);
	return kind == DRY_KIND_NEW ? new_object_al(size, align) : new_array_al(size, align);
}

/* ---- delete: a hit here as in free(), which nobody replaces for what is a hit ------------------ */

static DRY_SLOW enum dry_kind look_at_noted(void *object, enum dry_kind kind)
{
	return keeps_kinds() ? front_free_as(object, kind, kind == DRY_KIND_NEW ? "delete" : "delete[]") : DRY_KIND_UNKNOWN;
}

/* check:1, which comes here with each block, keeps none; whose operators they are is not asked then. */
DRY_FAST void look_at_kind(void *object, enum dry_kind kind)
{
	if (DRY_UNLIKELY(front_noted_below != 0))
		look_at_noted(object, kind);
}

static DRY_NOINLINE void delete_slow(void *object, enum dry_kind kind)
{
	look_at_kind(object, kind);
	free(object);
}

/* What is not freed, for its size is another, is of its kind yet. */
static DRY_SLOW void delete_sized_noted(void *object, size_t size, size_t align, enum dry_kind kind)
{
	enum dry_kind was = look_at_noted(object, kind);

	if (front_size_holds(object, size, align))
		free(object);
	else if (was != DRY_KIND_UNKNOWN)
		front_note(object, was);
}

static DRY_NOINLINE void delete_sized_slow(void *object, size_t size, size_t align, enum dry_kind kind)
{
	if (DRY_UNLIKELY(front_noted_below != 0))
		delete_sized_noted(object, size, align, kind);
	else
		free_aligned_sized(object, align, size);
}

DRY_FAST void delete_as(void *object, enum dry_kind kind)
{
	if (!fast_push(object))
		delete_slow(object, kind);
}

DRY_FAST void delete_sized_as(void *object, size_t size, size_t align, enum dry_kind kind)
{
	if (!fast_push(object))
		delete_sized_slow(object, size, align, kind);
}

OPERATOR(void, delete_object, "_ZdlPv", (void *object))
{
	delete_as(object, DRY_KIND_NEW);
}

OPERATOR(void, delete_object_al, "_ZdlPvSt11align_val_t", (void *object, size_t align))
{
	(void)align;
	delete_as(object, DRY_KIND_NEW);
}

OPERATOR(void, delete_array, "_ZdaPv", (void *object))
{
	if (IS_OURS(delete_object, our_object))
		delete_as(object, DRY_KIND_NEW_ARRAY);
	else
		delete_object(object);
}

OPERATOR(void, delete_array_al, "_ZdaPvSt11align_val_t", (void *object, size_t align))
{
	if (IS_OURS(delete_object_al, our_object_al))
		delete_as(object, DRY_KIND_NEW_ARRAY);
	else
		delete_object_al(object, align);
}

/* With a size: checked where all that it would pass through is ours. */
OPERATOR(void, delete_object_s, "_ZdlPvm", (void *object, size_t size))
{
	if (IS_OURS(delete_object, our_object))
		delete_sized_as(object, size, 1, DRY_KIND_NEW);
	else
		delete_object(object);
}

OPERATOR(void, delete_array_s, "_ZdaPvm", (void *object, size_t size))
{
	if (IS_OURS(delete_array, our_array) && IS_OURS(delete_object, our_object))
		delete_sized_as(object, size, 1, DRY_KIND_NEW_ARRAY);
	else
		delete_array(object);
}

OPERATOR(void, delete_object_s_al, "_ZdlPvmSt11align_val_t", (void *object, size_t size, size_t align))
{
	if (IS_OURS(delete_object_al, our_object_al))
		delete_sized_as(object, size, align, DRY_KIND_NEW);
	else
		delete_object_al(object, align);
}

OPERATOR(void, delete_array_s_al, "_ZdaPvmSt11align_val_t", (void *object, size_t size, size_t align))
{
	if (IS_OURS(delete_array_al, our_array_al) && IS_OURS(delete_object_al, our_object_al))
		delete_sized_as(object, size, align, DRY_KIND_NEW_ARRAY);
	else
		delete_array_al(object, align);
}

OPERATOR(void, delete_object_nt, "_ZdlPvRKSt9nothrow_t", (void *object, const void *tag))
{
	(void)tag;
	delete_object(object);
}

OPERATOR(void, delete_array_nt, "_ZdaPvRKSt9nothrow_t", (void *object, const void *tag))
{
	(void)tag;
	delete_array(object);
}

OPERATOR(void, delete_object_al_nt, "_ZdlPvSt11align_val_tRKSt9nothrow_t", (void *object, size_t align, const void *tag))
{
	(void)tag;
	delete_object_al(object, align);
}

OPERATOR(void, delete_array_al_nt, "_ZdaPvSt11align_val_tRKSt9nothrow_t", (void *object, size_t align, const void *tag))
{
	(void)tag;
	delete_array_al(object, align);
}
