/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* load LIBRARY: a program that was linked to nothing loads the library and allocates from it. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void *(*alloc)(void *, size_t), *block;
	void (*release)(void *, void *);
	int (*check)(void *);

	if (library == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&alloc = dlsym(library, "dry_alloc");
	*(void **)&release = dlsym(library, "dry_free");
	*(void **)&check = dlsym(library, "dry_heap_check");
	block = alloc(NULL, 5000);
	if (block == NULL)
		return 2;
	memset(block, 1, 5000);
	release(NULL, block);
	printf("loaded\n");
	return check(NULL) != 0 || dlclose(library) != 0;
}
