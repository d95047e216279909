/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * C++ new and delete, by their mangled names (Itanium ABI, LP64), so that the
 * library needs no C++ run-time library. Where the program has one, a failing
 * new calls the new_handler and throws std::bad_alloc through it.
 *
 * The nothrow forms are left to that library: the standard has them call the plain form
 * and catch what it throws, which C cannot do. So they come here all the same.
 */
#include <stddef.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/fatal.h"
#include "port/contract.h"

/* C23; libc's header may not have them */
void free_sized(void *object, size_t size);
void free_aligned_sized(void *object, size_t align, size_t size);

typedef void (*new_handler)(void);
DRY_WEAK new_handler get_new_handler(void) __asm__("_ZSt15get_new_handlerv");
DRY_WEAK void throw_bad_alloc(void) __asm__("_ZSt17__throw_bad_allocv");

/* align 0: as malloc. */
static void *try_once(size_t size, size_t align)
{
	return align == 0 ? malloc(size) : aligned_alloc(align, size);
}

static DRY_SLOW void *insist(size_t size, size_t align)
{
	for (;;) {
		new_handler handler = get_new_handler != NULL ? get_new_handler() : NULL;
		if (handler == NULL)
			break;
		handler();
		void *object = try_once(size, align);
		if (object != NULL)
			return object;
	}
	if (throw_bad_alloc != NULL)
		throw_bad_alloc();
	dry_warn("operator new: out of memory, and no C++ run-time library to throw with");
	dry_port_abort();
}

DRY_FAST void *allocate(size_t size, size_t align)
{
	void *object = try_once(size, align);

	return DRY_LIKELY(object != NULL) ? object : insist(size, align);
}

/*
 * A program may replace any of these. Those that it leaves alone then go the standard's way: new[] by new; delete by the
 * same without array, size or tag. Whether it did is told by the address, which each library or program has once.
 */
#define OPERATOR(type, c_name, symbol, params)          \
	DRY_EXPORT DRY_WEAK type c_name params __asm__(symbol); \
	type c_name params

OPERATOR(void *, new_object, "_Znwm", (size_t size))
{
	return allocate(size, 0);
}

OPERATOR(void *, new_object_al, "_ZnwmSt11align_val_t", (size_t size, size_t align))
{
	return allocate(size, align);
}

OPERATOR(void *, new_array, "_Znam", (size_t size))
{
	return new_object(size);
}

OPERATOR(void *, new_array_al, "_ZnamSt11align_val_t", (size_t size, size_t align))
{
	return new_object_al(size, align);
}

OPERATOR(void, delete_object, "_ZdlPv", (void *object))
{
	free(object);
}

OPERATOR(void, delete_object_al, "_ZdlPvSt11align_val_t", (void *object, size_t align))
{
	(void)align;
	free(object);
}

OPERATOR(void, delete_array, "_ZdaPv", (void *object))
{
	delete_object(object);
}

OPERATOR(void, delete_array_al, "_ZdaPvSt11align_val_t", (void *object, size_t align))
{
	delete_object_al(object, align);
}

/* With a size: checked where all that it would pass through is ours. */
#define OURS(own, symbol) static __typeof__(void(void)) own __attribute__((alias(symbol)))
#define IS_OURS(name, own) ((void (*)(void))(name) == (own))

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattribute-alias" /* an address to compare with, never called */
#pragma GCC diagnostic ignored "-Wpragmas"
OURS(our_object, "_ZdlPv");
OURS(our_array, "_ZdaPv");
OURS(our_object_al, "_ZdlPvSt11align_val_t");
OURS(our_array_al, "_ZdaPvSt11align_val_t");
#pragma GCC diagnostic pop

OPERATOR(void, delete_object_s, "_ZdlPvm", (void *object, size_t size))
{
	if (DRY_LIKELY(IS_OURS(delete_object, our_object)))
		free_sized(object, size);
	else
		delete_object(object);
}

OPERATOR(void, delete_array_s, "_ZdaPvm", (void *object, size_t size))
{
	if (DRY_LIKELY(IS_OURS(delete_array, our_array) && IS_OURS(delete_object, our_object)))
		free_sized(object, size);
	else
		delete_array(object);
}

OPERATOR(void, delete_object_s_al, "_ZdlPvmSt11align_val_t", (void *object, size_t size, size_t align))
{
	if (DRY_LIKELY(IS_OURS(delete_object_al, our_object_al)))
		free_aligned_sized(object, align, size);
	else
		delete_object_al(object, align);
}

OPERATOR(void, delete_array_s_al, "_ZdaPvmSt11align_val_t", (void *object, size_t size, size_t align))
{
	if (DRY_LIKELY(IS_OURS(delete_array_al, our_array_al) && IS_OURS(delete_object_al, our_object_al)))
		free_aligned_sized(object, align, size);
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
