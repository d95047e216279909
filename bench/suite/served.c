/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Preloaded before an allocator: adds the library that serves malloc to the file SUITE_SERVED, a line for each process.
 * Programs with a malloc of their own are found so, for which preloading does nothing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void tell(void)
{
	const char *path = getenv("SUITE_SERVED");
	void *address = dlsym(RTLD_DEFAULT, "malloc");
	ElfW(Sym) *symbol = NULL;
	Dl_info info;
	FILE *file;

	if (path == NULL || address == NULL || dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) == 0)
		return;
	/* In a program at a fixed address it may be the linkage table's entry for it; who comes next defines it. */
	if (symbol != NULL && symbol->st_shndx == SHN_UNDEF && dladdr(dlsym(RTLD_NEXT, "malloc"), &info) == 0)
		return;
	file = fopen(path, "a");
	if (file == NULL)
		return;
	fprintf(file, "%s\n", info.dli_fname);
	fclose(file);
}
