/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the modules of the process - the program and its shared libraries - have in them. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dl_iterate_phdr, memmem */
#endif
#include <link.h>
#include <stdint.h>
#include <string.h>

#include "port/stack.h"

/* The name of a type that operator new throws: it is where that library is, and no symbol, so that it is never stripped. */
static const char name[] = "St9bad_alloc";

/* Whether it stands there by itself, and is not the end of a symbol. */
static bool has_name(const char *from, size_t bytes)
{
	for (const char *at = from; (at = memmem(at, bytes - (size_t)(at - from), name, sizeof(name))) != NULL; at++) {
		char before = at > from ? at[-1] : '\0';
		if ((before < 'A' || before > 'Z') && (before < 'a' || before > 'z') && before != '_')
			return true;
	}
	return false;
}

/* The libraries that others share, and ourselves. */
static bool is_known(const struct dl_phdr_info *module)
{
	const char *slash = strrchr(module->dlpi_name, '/'), *file = slash != NULL ? slash + 1 : module->dlpi_name;

	for (unsigned i = 0; i < module->dlpi_phnum; i++)
		if (module->dlpi_phdr[i].p_type == PT_LOAD &&
		    (uintptr_t)name - (module->dlpi_addr + module->dlpi_phdr[i].p_vaddr) < module->dlpi_phdr[i].p_memsz)
			return true;
	return strncmp(file, "libstdc++.so", 12) == 0 || strncmp(file, "libc++", 6) == 0;
}

static int look(struct dl_phdr_info *module, size_t size, void *arg)
{
	(void)size, (void)arg;
	if (is_known(module))
		return 0;
	for (unsigned i = 0; i < module->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &module->dlpi_phdr[i];
		if (segment->p_type == PT_LOAD && (segment->p_flags & (PF_R | PF_W)) == PF_R &&
		    has_name((const char *)(module->dlpi_addr + segment->p_vaddr), segment->p_filesz))
			return 1;
	}
	return 0;
}

bool dry_port_has_cxx_apart(void)
{
	static bool found; /* atomic; relaxed: it stays so */

	if (!__atomic_load_n(&found, __ATOMIC_RELAXED) && dl_iterate_phdr(look, NULL) != 0)
		__atomic_store_n(&found, true, __ATOMIC_RELAXED);
	return __atomic_load_n(&found, __ATOMIC_RELAXED);
}
