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

#define NEW(c_name, symbol, params, align)                       \
	DRY_EXPORT void *c_name params __asm__(symbol);          \
	void *c_name params                                      \
	{                                                        \
		return allocate(size, align);           \
	}

NEW(new_object, "_Znwm", (size_t size), 0)
NEW(new_array, "_Znam", (size_t size), 0)
NEW(new_object_al, "_ZnwmSt11align_val_t", (size_t size, size_t align), align)
NEW(new_array_al, "_ZnamSt11align_val_t", (size_t size, size_t align), align)

#define DELETE(c_name, symbol, params)                \
	DRY_EXPORT void c_name params __asm__(symbol); \
	void c_name params                            \
	{                                             \
		free(object);                         \
	}
#define DELETE_SIZED(c_name, symbol, params)          \
	DRY_EXPORT void c_name params __asm__(symbol); \
	void c_name params                            \
	{                                             \
		free_sized(object, size);             \
	}
#define DELETE_SIZED_ALIGNED(c_name, symbol)                                            \
	DRY_EXPORT void c_name(void *object, size_t size, size_t align) __asm__(symbol); \
	void c_name(void *object, size_t size, size_t align)                             \
	{                                                                                \
		free_aligned_sized(object, align, size);                                 \
	}
#define UNUSED __attribute__((unused))

DELETE(delete_object, "_ZdlPv", (void *object))
DELETE(delete_array, "_ZdaPv", (void *object))
DELETE(delete_object_nt, "_ZdlPvRKSt9nothrow_t", (void *object, const void *tag UNUSED))
DELETE(delete_array_nt, "_ZdaPvRKSt9nothrow_t", (void *object, const void *tag UNUSED))
DELETE_SIZED(delete_object_s, "_ZdlPvm", (void *object, size_t size))
DELETE_SIZED(delete_array_s, "_ZdaPvm", (void *object, size_t size))
DELETE(delete_object_al, "_ZdlPvSt11align_val_t", (void *object, size_t align UNUSED))
DELETE(delete_array_al, "_ZdaPvSt11align_val_t", (void *object, size_t align UNUSED))
DELETE_SIZED_ALIGNED(delete_object_s_al, "_ZdlPvmSt11align_val_t")
DELETE_SIZED_ALIGNED(delete_array_s_al, "_ZdaPvmSt11align_val_t")
DELETE(delete_object_al_nt, "_ZdlPvSt11align_val_tRKSt9nothrow_t",
       (void *object, size_t align UNUSED, const void *tag UNUSED))
DELETE(delete_array_al_nt, "_ZdaPvSt11align_val_tRKSt9nothrow_t",
       (void *object, size_t align UNUSED, const void *tag UNUSED))
