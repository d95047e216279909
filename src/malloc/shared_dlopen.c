/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * dlopen() and dlmopen() without RTLD_DEEPBIND. A library that is opened with it finds libc before us: its free() would get our
 * blocks, and its callers would free libc's. In the shared library only: a program that we are linked into may have no other.
 *
 * libc looks at who calls, for what stands in the caller's RUNPATH and for its name space, so the call is handed on by a jump.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT, RTLD_DEEPBIND */
#endif
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/compiler.h"
#include "malloc/options.h"

#ifdef RTLD_DEEPBIND

static int without(int mode)
{
	return dry_option_deepbind ? mode : mode & ~RTLD_DEEPBIND;
}

/* What is behind us; the same each time, so who looks first does not matter. */
static void *next(void *_Atomic *known, const char *name)
{
	void *symbol = atomic_load_explicit(known, memory_order_relaxed);

	if (DRY_LIKELY(symbol != NULL))
		return symbol;
	symbol = dlsym(RTLD_NEXT, name);
	atomic_store_explicit(known, symbol, memory_order_relaxed);
	return symbol;
}

DRY_EXPORT void *dlopen(const char *file, int mode)
{
	static void *_Atomic known;
	void *(*real)(const char *file, int mode);

	*(void **)&real = next(&known, "dlopen");
	return real != NULL ? real(file, without(mode)) : NULL;
}

#ifdef LM_ID_BASE
/* In a name space of its own a library has a libc of its own, too. */
DRY_EXPORT void *dlmopen(Lmid_t space, const char *file, int mode)
{
	static void *_Atomic known;
	void *(*real)(Lmid_t space, const char *file, int mode);

	*(void **)&real = next(&known, "dlmopen");
	return real != NULL ? real(space, file, space == LM_ID_BASE ? without(mode) : mode) : NULL;
}
#endif

#endif
