/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A library that is opened with RTLD_DEEPBIND frees our blocks, lets them grow and asks for their sizes, and we do so with its own:
 * in each profile. With deepbind:1 it has libc's malloc, as it asked. Whoever calls dlopen() is seen by libc: a library finds
 * another by its own RUNPATH.
 * Not where drystone is linked into the program: there dlopen() is libc's.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "../support/check.h"

#ifndef RTLD_DEEPBIND
#define RTLD_DEEPBIND 0 /* musl has none */
#endif
#include "../support/plugin.h"

static const char deep[] = "#define _GNU_SOURCE\n"
			   "#include <dlfcn.h>\n#include <malloc.h>\n#include <stdlib.h>\n#include <string.h>\n"
			   "void take(void *block) { free(block); }\n"
			   "void *give(size_t size) { return malloc(size); }\n"
			   "char *copy(const char *text) { return strdup(text); }\n"
			   "void *grow(void *block, size_t size) { return realloc(block, size); }\n"
			   "size_t room(void *block) { return malloc_usable_size(block); }\n"
			   "void *aligned(size_t size) { void *block; return posix_memalign(&block, 256, size) ? NULL : block; }\n"
			   "void *which(void) { return (void *)malloc; }\n"
			   "void *other(int mode) { return dlopen(\"beside.so\", RTLD_NOW | mode); }\n"
			   "void *base(int mode) { return dlmopen(LM_ID_BASE, \"beside.so\", RTLD_NOW | mode); }\n";

static const struct profile {
	const char *conf;
	bool other; /* malloc of the library is another */
} profiles[] = {
	{ "deepbind:0", false }, { "deepbind:1", true },		{ "check:1", false },
	{ "secure:1", false },	 { "guard:1,guard_rate:2", false },	{ "debug:FZPUQ", false },
};

static char first[64], second[64];

static void *symbol(void *library, const char *name)
{
	void *at = dlsym(library, name);

	CHECK(at != NULL);
	return at;
}

static void use(void *library)
{
	void (*take)(void *block);
	void *(*give)(size_t size), *(*grow)(void *block, size_t size), *(*aligned)(size_t size);
	char *(*copy)(const char *text), *text;
	size_t (*room)(void *block);

	*(void **)&take = symbol(library, "take");
	*(void **)&give = symbol(library, "give");
	*(void **)&grow = symbol(library, "grow");
	*(void **)&copy = symbol(library, "copy");
	*(void **)&room = symbol(library, "room");
	*(void **)&aligned = symbol(library, "aligned");
	for (size_t size = 1; size < 3000000; size += 1 + size / 3) {
		unsigned char *block = malloc(size), *its = give(size);

		CHECK(block != NULL && its != NULL);
		CHECK(room(block) >= size && room(block) == malloc_usable_size(block));
		CHECK(malloc_usable_size(its) >= size && room(its) == malloc_usable_size(its));
		memset(block, 7, size);
		block = grow(block, size + 1000);
		CHECK(block != NULL && block[0] == 7 && block[size - 1] == 7);
		memset(its, 8, size);
		its = realloc(its, size + 1000);
		CHECK(its != NULL && its[0] == 8 && its[size - 1] == 8);
		take(its);
		free(block);
		block = aligned(size);
		CHECK(block != NULL && (uintptr_t)block % 256 == 0);
		free(block);
		take(memalign(4096, size));
		take(malloc(size));
		free(give(size));
		free(grow(malloc(size), 2 * size));
		take(realloc(give(size), 2 * size));
	}
	text = copy("a string of libc's");
	take(text);
	free(copy("another"));
}

/* The library finds another, whichever call it opens that by. */
static void look_beside(void *library, const char *by)
{
	void *(*other)(int mode), *beside;

	*(void **)&other = symbol(library, by);
	beside = other(0);
	CHECK(beside != NULL && dlclose(beside) == 0);
	beside = other(RTLD_DEEPBIND);
	CHECK(beside != NULL && dlsym(beside, "beside") != NULL && dlclose(beside) == 0);
}

/* 0: malloc of the library is ours; 1: another. */
static int look(void *library)
{
	void *(*which)(void);
	int differs;

	CHECK(library != NULL);
	*(void **)&which = symbol(library, "which");
	look_beside(library, "other");
	look_beside(library, "base");
	differs = which() != (void *)(uintptr_t)malloc;
	if (!differs)
		use(library);
	CHECK(dlclose(library) == 0);
	return differs;
}

static int look_both(void)
{
	int mode = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND, differs = look(dlopen(first, mode));

#ifdef LM_ID_BASE
	CHECK_EQ(look(dlmopen(LM_ID_BASE, first, mode)), differs);
#endif
	return differs;
}

int main(int argc, char **argv)
{
	char *conf = getenv("DRYSTONE_CONF"), preload[512] = "";
	void *mine = dlsym(RTLD_DEFAULT, "dlopen");
	Dl_info info;
	int status;

	if (argc == 3) {
		snprintf(first, sizeof(first), "%s", argv[1]);
		return look_both() == profiles[atoi(argv[2])].other ? 0 : 1;
	}
	if (RTLD_DEEPBIND == 0)
		return 77;
	CHECK(mine != NULL && dladdr(mine, &info) != 0);
	if (strstr(info.dli_fname, "libdrystone") == NULL) {
		printf("skipped: dlopen() is that of %s\n", info.dli_fname);
		return 77;
	}
	snprintf(preload, sizeof(preload), "%s", info.dli_fname);
	CHECK(conf == NULL);
	plugin_build(first, sizeof(first), "deep", deep, "-Wl,-rpath,'$ORIGIN',--enable-new-dtags");
	plugin_build(second, sizeof(second), "beside", "int beside;\n", "");
	CHECK_EQ(look_both(), 0);
	for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++) {
		char number[] = { (char)('0' + i), '\0' };
		pid_t child = fork();

		CHECK(child >= 0);
		if (child == 0) {
			setenv("LD_PRELOAD", preload, 1);
			setenv("DRYSTONE_CONF", profiles[i].conf, 1);
			execl("/proc/self/exe", argv[0], first, number, (char *)NULL);
			_exit(3);
		}
		CHECK(waitpid(child, &status, 0) == child);
		if (status != 0)
			fprintf(stderr, "DRYSTONE_CONF=%s: status %#x\n", profiles[i].conf, (unsigned)status);
		CHECK_EQ(status, 0);
	}
	CHECK(!unlink(first) && !unlink(second) && !rmdir(plugin_directory));
	return 0;
}
