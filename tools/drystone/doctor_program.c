/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Whether a preload reaches a program file. Its libraries are those that our own dynamic linker lists for it
 * (ld.so(8), --list), which runs nothing of the program; one with another dynamic linker is judged by its file alone.
 */
#define _GNU_SOURCE
#include "doctor.h"
#include "cli.h"
#include "elf_file.h"
#include "text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define AREA "program"
#define MOST_SCRIPTS 4

/* Symbols that give away who allocates. */
static const struct mark {
	const char *symbol, *name;
	bool checks; /* a sanitizer: it has to be the malloc */
} marks[] = {
	{ "__asan_init", "AddressSanitizer", true },	{ "__tsan_init", "ThreadSanitizer", true },
	{ "__msan_init", "MemorySanitizer", true },	{ "__hwasan_init", "HWAddressSanitizer", true },
	{ "__lsan_init", "LeakSanitizer", true },	{ "mallctl", "jemalloc", false },
	{ "je_mallctl", "jemalloc", false },		{ "_rjem_mallctl", "jemalloc", false },
	{ "tc_malloc", "tcmalloc", false },		{ "TCMallocInternalMalloc", "tcmalloc", false },
	{ "mi_malloc", "mimalloc", false },		{ "rpmalloc", "rpmalloc", false },
	{ "sn_malloc", "snmalloc", false },		{ "runtime.mallocgc", "Go's allocator", false },
};
#define MARKS (sizeof(marks) / sizeof(marks[0]))

struct symbols {
	bool defined[MARKS], needed[MARKS];
	bool malloc, own_malloc; /* exported; only known inside */
	bool drystone;
};

static bool see_symbol(void *arg, const char *name, uint64_t value, bool exported)
{
	struct symbols *seen = arg;

	for (size_t i = 0; i < MARKS; i++)
		if (strcmp(name, marks[i].symbol) == 0)
			*(value != 0 ? &seen->defined[i] : &seen->needed[i]) = true;
	if (value != 0 && strcmp(name, "malloc") == 0)
		*(exported ? &seen->malloc : &seen->own_malloc) = true;
	if (value != 0 && strcmp(name, "dry_inspect") == 0)
		seen->drystone = true;
	return true;
}

/* Whose malloc the file has; "its own" where no mark says it. */
static const char *owner_in(const struct symbols *seen)
{
	for (size_t i = 0; i < MARKS; i++)
		if (seen->defined[i] && !marks[i].checks)
			return marks[i].name;
	return NULL;
}

static const char *sanitizer_in(const struct symbols *seen)
{
	for (size_t i = 0; i < MARKS; i++)
		if ((seen->defined[i] || seen->needed[i]) && marks[i].checks)
			return marks[i].name;
	return NULL;
}

static void judge_rights(const char *path)
{
	struct cli_raised raised = cli_raised(path);

	if (raised.key != NULL)
		doctor_say(AREA, LEVEL_NO, raised.key, "it runs with other rights than yours (%s): ld.so ignores LD_PRELOAD",
			   raised.by);
}

static void judge_symbols(const struct symbols *seen, bool is_static)
{
	const char *owner = owner_in(seen), *sanitizer = sanitizer_in(seen);

	if (seen->drystone) {
		doctor_say(AREA, LEVEL_OK, "linked", "drystone is linked into it");
		return;
	}
	if (is_static)
		doctor_say(AREA, LEVEL_NO, "static", "it is linked statically: nothing can be preloaded%s%s",
			   owner != NULL ? "; its allocator is " : "", owner != NULL ? owner : "");
	if (sanitizer != NULL)
		doctor_say(AREA, LEVEL_NO, "sanitizer", "it is built with %s, which has to be its malloc", sanitizer);
	else if (!is_static && (seen->malloc || seen->own_malloc))
		doctor_say(AREA, LEVEL_NO, "own-malloc",
			   "it has a malloc of its own%s%s, which comes before any that is preloaded",
			   owner != NULL ? ", " : "", owner != NULL ? owner : "");
	else if (!is_static && owner != NULL)
		doctor_say(AREA, LEVEL_NOTE, "own-allocator",
			   "it has %s inside, under other names: drystone serves only what calls malloc", owner);
}

/* ---- libraries ----------------------------------------------------------------------------------------- */

static void judge_library(const char *path, bool *ours)
{
	struct symbols seen = { 0 };
	struct elf_file file;
	const char *name = text_base_name(path), *owner;

	if (elf_file_open(&file, path) != ELF_FILE_OK)
		return;
	elf_file_symbols(&file, see_symbol, &seen);
	elf_file_close(&file);
	owner = owner_in(&seen);
	*ours = *ours || seen.drystone;
	if (seen.drystone || strncmp(name, "libc.", 5) == 0 || strncmp(name, "ld-", 3) == 0)
		return;
	if (sanitizer_in(&seen) != NULL && seen.malloc)
		doctor_say(AREA, LEVEL_NO, "sanitizer", "%s has to be its malloc, and to be loaded first", name);
	else if (seen.malloc)
		doctor_say(AREA, LEVEL_NOTE, "replaced", "it needs %s%s%s%s as its malloc; drystone's comes first", name,
			   owner != NULL ? " (" : "", owner != NULL ? owner : "", owner != NULL ? ")" : "");
}

/* The lines of the dynamic linker's list are "NAME => PATH (ADDRESS)" and "PATH (ADDRESS)". */
static void judge_line(char *line, bool *ours)
{
	char *path = strstr(line, "=> "), *end;

	path = path != NULL ? path + 3 : line + strspn(line, "\t ");
	end = strstr(path, " (0x");
	if (strstr(line, "cannot be preloaded") != NULL)
		doctor_say(AREA, LEVEL_NO, "refused", "%s", line + strcspn(line, "'"));
	else if (strstr(line, "not found") != NULL)
		doctor_say(AREA, LEVEL_NO, "missing", "a library is missing, without which it does not start: %.*s",
			   (int)strcspn(line + strspn(line, "\t "), "\n"), line + strspn(line, "\t "));
	if (end == NULL || path[0] != '/')
		return;
	*end = '\0';
	judge_library(path, ours);
}

static const char *own_linker(struct elf_file *self)
{
	return elf_file_open(self, "/proc/self/exe") == ELF_FILE_OK ? elf_file_interpreter(self) : NULL;
}

/* The path that the system would tell the dynamic linker: without links, for libraries may be named by where the program lies. */
static const char *real_path(const char *path, char *room)
{
	struct stat named, real;

	return realpath(path, room) != NULL && stat(path, &named) == 0 && stat(room, &real) == 0 && named.st_dev == real.st_dev &&
			       named.st_ino == real.st_ino ?
		       room :
		       path;
}

/* A child that lists the libraries of the program, as ldd(1) does: also those that are missing. Its output, or NULL. */
static FILE *list_libraries(const char *linker, const char *library, const char *path, pid_t *child)
{
	char room[PATH_MAX];
	int ends[2];

	path = real_path(path, room);

	if (pipe(ends) != 0)
		return NULL;
	fflush(stdout);
	*child = fork();
	if (*child == 0) {
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		setenv("LD_PRELOAD", library, 1);
		setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
		execl(linker, linker, path, (char *)NULL);
		_exit(CLI_NOT_FOUND);
	}
	close(ends[1]);
	if (*child < 0) {
		close(ends[0]);
		return NULL;
	}
	return fdopen(ends[0], "r");
}

static void judge_libraries(const char *path, const char *interpreter)
{
	char library[PATH_MAX], theirs[PATH_MAX], ours[PATH_MAX], *line = NULL;
	struct elf_file self;
	const char *linker = own_linker(&self);
	bool found = false, same = linker != NULL && realpath(linker, ours) != NULL && realpath(interpreter, theirs) != NULL &&
				   strcmp(ours, theirs) == 0;
	size_t size = 0;
	pid_t child;
	FILE *list;

	elf_file_close(&self);
	if (strstr(interpreter, "ld-musl") != NULL) { /* which does not list libraries for who asks: it would start the program */
#ifdef __GLIBC__
		doctor_say(AREA, LEVEL_NO, "musl", "its C library is musl; this libdrystone.so needs glibc");
#else
		doctor_say(AREA, LEVEL_OK, "preload", "its C library is musl, as that of this libdrystone.so");
#endif
		return;
	}
	if (!same) {
		doctor_say(AREA, LEVEL_NOTE, "linker", "its dynamic linker is %s: what it would load was not looked at",
			   interpreter);
		return;
	}
	if (!cli_find_library(NULL, "libdrystone.so", library) || (list = list_libraries(ours, library, path, &child)) == NULL)
		return;
	while (getline(&line, &size, list) > 0)
		judge_line(line, &found);
	free(line);
	fclose(list);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	if (found)
		doctor_say(AREA, LEVEL_OK, "preload", "%s loads %s before its libraries", interpreter, library);
	else
		doctor_say(AREA, LEVEL_NO, "preload", "%s does not load %s", interpreter, library);
}

/* ---- the file ------------------------------------------------------------------------------------------- */

/* "#!INTERPRETER [ARGUMENT]"; of env(1) the argument is meant. */
static bool judge_script(const char *path, unsigned depth);

static bool judge_file(const char *path, unsigned depth)
{
	struct elf_file file;
	struct symbols seen = { 0 };
	const char *interpreter;

	switch (elf_file_open(&file, path)) {
	case ELF_FILE_UNREADABLE:
		cli_error("doctor: cannot read %s: %s", path, strerror(errno));
		return false;
	case ELF_FILE_OTHER:
		return judge_script(path, depth);
	case ELF_FILE_FOREIGN:
		doctor_say(AREA, LEVEL_NO, "architecture",
			   "%s is for another processor or of another width than this libdrystone.so",
			   path);
		return true;
	case ELF_FILE_OK:
		break;
	}
	elf_file_symbols(&file, see_symbol, &seen);
	interpreter = elf_file_interpreter(&file);
	doctor_say(AREA, LEVEL_OK, "file", "%s, %s", path, interpreter != NULL ? "linked dynamically" : "linked statically");
	judge_rights(path);
	judge_symbols(&seen, interpreter == NULL);
	if (interpreter != NULL && !seen.drystone)
		judge_libraries(path, interpreter);
	elf_file_close(&file);
	return true;
}

static bool judge_script(const char *path, unsigned depth)
{
	char line[PATH_MAX] = "", found[PATH_MAX], *name, *rest = NULL;
	FILE *file = fopen(path, "re");

	if (file == NULL || fgets(line, sizeof(line), file) == NULL)
		line[0] = '\0';
	if (file != NULL)
		fclose(file);
	name = strncmp(line, "#!", 2) == 0 ? strtok_r(line + 2, " \t\n", &rest) : NULL;
	if (name != NULL && strcmp(name, "/usr/bin/env") == 0)
		while ((name = strtok_r(NULL, " \t\n", &rest)) != NULL && name[0] == '-')
			;
	if (name == NULL || depth == 0 || !cli_find_program(name, found, sizeof(found))) {
		doctor_say(AREA, LEVEL_NO, "file", "%s is neither a program nor a script whose interpreter is there", path);
		return true;
	}
	doctor_say(AREA, LEVEL_OK, "script", "%s is a script for %s", path, found);
	return judge_file(found, depth - 1);
}

bool doctor_program(const char *path)
{
	return judge_file(path, MOST_SCRIPTS);
}
