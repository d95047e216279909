/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What keeps a program from being given a library: the dynamic linker loads it, so there must be one (PT_INTERP; System V ABI,
 * chapter 5), and it leaves LD_PRELOAD alone in programs that run with more rights than who starts them.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli.h"
#include "elf_file.h"

bool cli_find_program(const char *name, char *path, size_t size)
{
	const char *folders = getenv("PATH");

	if (name[0] == '\0')
		return false;
	if (strchr(name, '/') != NULL)
		return snprintf(path, size, "%s", name) < (int)size;
	for (const char *at = folders != NULL ? folders : "/bin:/usr/bin"; at != NULL; at = strchr(at, ':')) {
		int length;

		at += *at == ':';
		length = (int)strcspn(at, ":");
		if (snprintf(path, size, "%.*s%s%s", length, at, length != 0 ? "/" : "", name) < (int)size &&
		    access(path, X_OK) == 0)
			return true;
	}
	return false;
}

static bool see_drystone(void *found, const char *name, uint64_t value, bool exported)
{
	(void)exported;
	*(bool *)found |= value != 0 && strcmp(name, "dry_inspect") == 0;
	return !*(bool *)found;
}

/* Scripts are not: their interpreter is. */
static void warn_if_static(const char *path)
{
	struct elf_file file;
	bool drystone = false;

	if (elf_file_open(&file, path) == ELF_FILE_OK && elf_file_interpreter(&file) == NULL) {
		elf_file_symbols(&file, see_drystone, &drystone);
		if (drystone)
			cli_error("%s is linked statically, with a drystone of its own: that one serves it", path);
		else
			cli_error("%s is linked statically and keeps the malloc that it is linked with", path);
	}
	elf_file_close(&file);
}

struct cli_raised cli_raised(const char *path)
{
	struct stat status;

	if (stat(path, &status) == 0 && (((status.st_mode & S_ISUID) && status.st_uid != geteuid()) ||
					 ((status.st_mode & S_ISGID) && status.st_gid != getegid())))
		return (struct cli_raised){ "setuid", "setuid or setgid" };
	if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0) /* root has them anyway */
		return (struct cli_raised){ "capabilities", "file capabilities" };
	return (struct cli_raised){ NULL, NULL };
}

void cli_warn_if_not_loaded(const char *program)
{
	struct cli_raised raised;
	char path[PATH_MAX];

	if (!cli_find_program(program, path, sizeof(path)))
		return;
	raised = cli_raised(path);
	if (raised.key != NULL)
		cli_error("%s runs with other rights than yours (%s), and so without drystone", path, raised.by);
	warn_if_static(path);
}
