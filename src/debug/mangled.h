/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Names of C++ functions as symbol tables have them (Itanium C++ ABI, 5.1), read as far as to tell which function it is: its name
 * with those of classes and namespaces, without arguments.
 *
 *   _ZN2ns1AIiE2goEPKc   ns A go      arguments of templates are passed over
 *   _ZN1AC2Ev            A A          as A::A, and D2 as A::~A
 *   _ZSt4sortI...        std sort
 *
 * What else there is (operators, functions within functions, thunks) has no name here. Nothing is written but to the caller's.
 */
#ifndef DRY_DEBUG_MANGLED_H
#define DRY_DEBUG_MANGLED_H

#include <stdbool.h>

/* What a person writes, "ns::A<int>::go(char const *)", becomes "ns::A::go", in place. */
void dry_mangled_strip(char *name);

/* Whether the symbol, of which more may follow, is that of a function of this name, perhaps in further namespaces and classes. */
bool dry_mangled_is(const char *symbol, const char *name);

#endif
