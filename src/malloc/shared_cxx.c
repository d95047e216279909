/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The C++ run-time library that came with a library which was opened. In the shared library only: a static program, in which the
 * linker warns of dlopen(), opens none, and one that we are linked into does not show such a library our operators.
 */
#include <dlfcn.h>
#include <stddef.h>

#include "malloc/opened.h"

/* It is asked for by name, and stays from then on. */
void *dry_opened_cxx(const char *name)
{
	static const char *const libraries[] = { "libstdc++.so.6", "libc++.so.1" };
	void *symbol = NULL;

	for (size_t i = 0; symbol == NULL && i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);

		if (library == NULL)
			continue;
		symbol = dlsym(library, name);
		dlclose(library);
	}
	return symbol;
}
