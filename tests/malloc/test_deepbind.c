/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A library that is opened with RTLD_DEEPBIND frees our blocks, and we free its own. With deepbind:1 it has libc's malloc, as it
 * asked. Whoever calls dlopen() is seen by libc: a library finds another by its own RUNPATH.
 * Not where drystone is linked into the program: there dlopen() is libc's.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "../support/check.h"

#ifndef RTLD_DEEPBIND
#define RTLD_DEEPBIND 0 /* musl has none */
#endif
#include "../support/plugin.h"

static const char deep[] = "#define _GNU_SOURCE\n"
			   "#include <dlfcn.h>\n#include <stdlib.h>\n#include <string.h>\n"
			   "void take(void *block) { free(block); }\n"
			   "void *give(size_t size) { return malloc(size); }\n"
			   "char *copy(const char *text) { return strdup(text); }\n"
			   "void *grow(void *block, size_t size) { return realloc(block, size); }\n"
			   "void *which(void) { return (void *)malloc; }\n"
			   "void *other(int mode) { return dlopen(\"beside.so\", RTLD_NOW | mode); }\n";

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
	void *(*give)(size_t size), *(*grow)(void *block, size_t size);
	char *(*copy)(const char *text);
	char *text;

	*(void **)&take = symbol(library, "take");
	*(void **)&give = symbol(library, "give");
	*(void **)&grow = symbol(library, "grow");
	*(void **)&copy = symbol(library, "copy");
	for (size_t size = 1; size < 3000000; size += 1 + size / 3) {
		take(malloc(size));
		free(give(size));
		free(grow(malloc(size), 2 * size));
		take(realloc(give(size), 2 * size));
	}
	text = copy("a string of libc's");
	take(text);
	free(copy("another"));
}

/* 0: malloc of the library is ours; 1: another. */
static int look(void)
{
	void *library = dlopen(first, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND), *beside;
	void *(*which)(void), *(*other)(int mode);
	int differs;

	CHECK(library != NULL);
	*(void **)&which = symbol(library, "which");
	*(void **)&other = symbol(library, "other");
	beside = other(0);
	CHECK(beside != NULL && dlclose(beside) == 0);
	beside = other(RTLD_DEEPBIND);
	CHECK(beside != NULL && dlsym(beside, "beside") != NULL && dlclose(beside) == 0);
	differs = which() != (void *)(uintptr_t)malloc;
	if (!differs)
		use(library);
	CHECK(dlclose(library) == 0);
	return differs;
}

int main(int argc, char **argv)
{
	char *conf = getenv("DRYSTONE_CONF"), preload[512] = "";
	void *mine = dlsym(RTLD_DEFAULT, "dlopen");
	Dl_info info;
	int status;

	if (argc == 4) {
		snprintf(first, sizeof(first), "%s", argv[1]);
		return look() == (argv[3][0] == '1') ? 0 : 1;
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
	CHECK_EQ(look(), 0);
	for (char want = '0'; want <= '1'; want++) {
		char option[] = "deepbind:0", flag[] = { want, '\0' };
		pid_t child = fork();

		CHECK(child >= 0);
		option[9] = want;
		if (child == 0) {
			setenv("LD_PRELOAD", preload, 1);
			setenv("DRYSTONE_CONF", option, 1);
			execl("/proc/self/exe", argv[0], first, "as", flag, (char *)NULL);
			_exit(3);
		}
		CHECK(waitpid(child, &status, 0) == child);
		CHECK_EQ(status, 0);
	}
	CHECK(!unlink(first) && !unlink(second) && !rmdir(plugin_directory));
	return 0;
}
