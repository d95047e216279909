/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * dlopen() without RTLD_DEEPBIND. A library that is opened with it finds libc before us: its free() would get our blocks, and its
 * callers would free libc's. In the shared library only: a program that we are linked into may have no other dlopen().
 *
 * libc looks at who calls, for what stands in the caller's RUNPATH and for its name space, so the call is handed on by a jump.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT, RTLD_DEEPBIND */
#endif
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "malloc/options.h"

#ifdef RTLD_DEEPBIND

typedef void *opener(const char *file, int mode);

static DRY_SLOW opener *find(void)
{
	void *symbol = dlsym(RTLD_NEXT, "dlopen");

	return (opener *)(uintptr_t)symbol;
}

DRY_EXPORT void *dlopen(const char *file, int mode)
{
	static opener *_Atomic next;
	opener *real = atomic_load_explicit(&next, memory_order_relaxed); /* always the same */

	if (DRY_UNLIKELY(real == NULL)) {
		real = find();
		if (real == NULL)
			return NULL;
		atomic_store_explicit(&next, real, memory_order_relaxed);
	}
	return real(file, dry_option_deepbind ? mode : mode & ~RTLD_DEEPBIND);
}

#endif
