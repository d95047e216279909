/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * C++ operators by their mangled names. A program may replace any of them. Those that it leaves alone then go the standard's
 * way: new[] by new; delete by the same without array, size or tag. Whether it did is told by the address, which each library or
 * program has once: OURS names an address to compare with, which is never called.
 */
#ifndef DRY_MALLOC_CXX_H
#define DRY_MALLOC_CXX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/kind.h"

#define DECLARE(type, c_name, symbol, params) DRY_EXPORT DRY_WEAK type c_name params __asm__(symbol)
#define OPERATOR(type, c_name, symbol, params) \
	DECLARE(type, c_name, symbol, params); \
	type c_name params
#define OURS(own, symbol)  static __typeof__(void(void)) own __attribute__((alias(symbol)))
#define IS_OURS(name, own) DRY_LIKELY((void (*)(void))(name) == (own))

/*
 * For the forms of new that throw nothing (shared_nothrow.c). align 0: as malloc. The first: a block, or NULL: there is no memory
 * for one, or a form that throws is the program's. The second: whether NULL is the end then, for nobody would do more but throw.
 * The third, for want of a library that catches: what the plain form does but throw, or the program's. The fourth: a block that
 * somebody else's form allocated is of this kind.
 */
void *dry_new_once(size_t size, size_t align, enum dry_kind kind);
bool dry_new_is_final(size_t align, enum dry_kind kind);
void *dry_new_uncaught(size_t size, size_t align, enum dry_kind kind);
void *dry_new_note(void *object, enum dry_kind kind);

/* Whether those forms are all ours. Where we are no library of our own they are the C++ library's, and this is NULL. */
DRY_WEAK bool dry_nothrow_is_ours(void);

#endif
