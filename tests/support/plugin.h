/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Libraries to open, compiled by the test itself (with $CC or cc), so that it is one program as all others. */
#ifndef DRY_TESTS_PLUGIN_H
#define DRY_TESTS_PLUGIN_H

#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "check.h"

static char plugin_directory[] = "/tmp/drystone-dlopen-XXXXXX";

/* DIRECTORY/name.so; the directory is made with the first one. */
static inline void plugin_build(char *path, size_t room, const char *name, const char *source, const char *flags)
{
	static bool made;
	char file[64], command[512];
	const char *cc = getenv("CC");
	FILE *out;

	CHECK(made || mkdtemp(plugin_directory));
	made = true;
	snprintf(file, sizeof(file), "%s/%s.c", plugin_directory, name);
	snprintf(path, room, "%s/%s.so", plugin_directory, name);
	CHECK((out = fopen(file, "w")) && fputs(source, out) >= 0 && !fclose(out));
	snprintf(command, sizeof(command), "%s -O1 -fPIC -shared %s -o %s %s", cc && *cc ? cc : "cc", flags, path, file);
	unsetenv("LD_PRELOAD"); /* the compiler is no part of the test, and may be of another libc */
	int status = system(command);
	if (status == 127 << 8 && getenv("DRY_TEST_MACHINE")) {
		printf("not here: an emulated machine has no compiler for a library to open\n");
		exit(77);
	}
	CHECK_EQ(status, 0);
	CHECK(!unlink(file));
}

#endif
