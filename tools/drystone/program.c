/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What keeps a program from being given a library: the dynamic linker loads it, so there must be one (PT_INTERP; System V ABI,
 * chapter 5), and it leaves LD_PRELOAD alone in programs that run with more rights than who starts them.
 */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

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

/* Scripts are not: their interpreter is. */
static bool is_static(int file)
{
	ElfW(Ehdr) header;
	ElfW(Phdr) segment;

	if (pread(file, &header, sizeof(header), 0) != sizeof(header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_phentsize != sizeof(segment))
		return false;
	for (unsigned i = 0; i < header.e_phnum; i++) {
		if (pread(file, &segment, sizeof(segment), (off_t)(header.e_phoff + i * sizeof(segment))) != sizeof(segment) ||
		    segment.p_type == PT_INTERP)
			return false;
	}
	return true;
}

void cli_warn_if_not_loaded(const char *program)
{
	char path[PATH_MAX];
	struct stat status;
	int file;

	if (!cli_find_program(program, path, sizeof(path)) || stat(path, &status) != 0)
		return;
	if (((status.st_mode & S_ISUID) && status.st_uid != geteuid()) ||
	    ((status.st_mode & S_ISGID) && status.st_gid != getegid()))
		cli_error("%s runs with other rights than yours (setuid or setgid), and so without drystone", path);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return;
	if (is_static(file))
		cli_error("%s is linked statically and keeps its own malloc", path);
	close(file);
}
