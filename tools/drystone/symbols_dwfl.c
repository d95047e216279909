/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* By elfutils' libdwfl: symbol tables, debug files of their own, lines, inlined calls. Names of C++ and Rust by libiberty. */
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <inttypes.h>
#ifdef DRY_DEMANGLES
#include <libiberty/demangle.h>
#endif
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "symbols.h"

struct symbols {
	Dwfl *dwfl;
	Dwfl_Module *alone; /* the one file; NULL: of a process */
	char *debug_path;
	Dwfl_Callbacks calls;
};

/* Only files: what has another name is not to be opened; and a line is a line. */
static bool is_file(const struct target_map *map)
{
	return map->inode != 0 && map->path[0] == '/' && strchr(map->path, '\n') == NULL;
}

/*
 * By which name the file can be opened: through the process's root only where it is another one there, for debug files are looked
 * for by names, too.
 */
static const char *place_of(const char *path, const char *root, char *text, size_t size)
{
	struct stat here, there;

	if (root[0] == '\0' || snprintf(text, size, "%s%s", root, path) >= (int)size || stat(text, &there) != 0)
		return path;
	return stat(path, &here) == 0 && here.st_dev == there.st_dev && here.st_ino == there.st_ino ? path : text;
}

/*
 * As /proc/PID/maps has them. A file's number is one of ours: neighbours of one number and two names end the reading, and the
 * system's are the same on two devices, and not known of a core file.
 */
static void write_maps(const struct target_map *maps, size_t count, const char *root, FILE *file)
{
	const char *last = "", *place = "";
	char text[PATH_MAX];
	size_t number = 0;

	for (size_t i = 0; i < count; i++) {
		if (!is_file(&maps[i]))
			continue;
		if (strcmp(maps[i].path, last) != 0) {
			last = maps[i].path;
			place = place_of(last, root, text, sizeof(text));
			number++;
		}
		fprintf(file, "%" PRIx64 "-%" PRIx64 " r-xp %08" PRIx64 " 00:00 %zu %s\n", maps[i].start, maps[i].end,
			maps[i].offset, number, place);
	}
}

struct symbols *symbols_open(const struct target_map *maps, size_t count, const char *root)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));
	char *text = NULL;
	size_t length = 0;
	FILE *file = open_memstream(&text, &length);

	if (symbols == NULL || file == NULL)
		return NULL;
	symbols->calls = (Dwfl_Callbacks){
		.find_elf = dwfl_linux_proc_find_elf, .find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &symbols->debug_path,
	};
	symbols->dwfl = dwfl_begin(&symbols->calls);
	write_maps(maps, count, root, file);
	fclose(file);
	file = length != 0 ? fmemopen(text, length, "r") : NULL;
	if (file != NULL && symbols->dwfl != NULL)
		dwfl_linux_proc_maps_report(symbols->dwfl, file);
	if (symbols->dwfl != NULL)
		dwfl_report_end(symbols->dwfl, NULL, NULL);
	if (file != NULL)
		fclose(file);
	free(text);
	return symbols;
}

struct symbols *symbols_open_file(const char *path, uint64_t *base)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));
	Dwfl_Module *module = NULL;
	Dwarf_Addr start = 0;

	if (symbols == NULL)
		return NULL;
	symbols->calls = (Dwfl_Callbacks){
		.find_debuginfo = dwfl_standard_find_debuginfo, .section_address = dwfl_offline_section_address,
		.debuginfo_path = &symbols->debug_path,
	};
	symbols->dwfl = dwfl_begin(&symbols->calls);
	if (symbols->dwfl != NULL)
		module = dwfl_report_offline(symbols->dwfl, "", path, -1);
	if (module == NULL || dwfl_report_end(symbols->dwfl, NULL, NULL) != 0 ||
	    dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL) == NULL) {
		symbols_close(symbols);
		return NULL;
	}
	*base = start;
	symbols->alone = module;
	return symbols;
}

bool symbols_is_build(const struct symbols *symbols, const char *id)
{
	const unsigned char *bits = NULL;
	GElf_Addr bias, at;
	int bytes = dwfl_module_getelf(symbols->alone, &bias) != NULL ? dwfl_module_build_id(symbols->alone, &bits, &at) : 0;
	char text[3];

	for (int i = 0; i < bytes && id[2 * i] != '\0'; i++) {
		snprintf(text, sizeof(text), "%02x", bits[i]);
		if (strncmp(id + (ptrdiff_t)2 * i, text, 2) != 0)
			return false;
	}
	return true;
}

void symbols_close(struct symbols *symbols)
{
	if (symbols != NULL && symbols->dwfl != NULL)
		dwfl_end(symbols->dwfl);
	free(symbols);
}

struct teller {
	void (*tell)(void *arg, const char *name, const char *file, int line);
	void *arg;
};

/* As its language writes it; NULL: as it is. */
static char *plain_name(const char *name)
{
#ifdef DRY_DEMANGLES
	if (strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0)
		return cplus_demangle(name, DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI);
#else
	(void)name;
#endif
	return NULL;
}

static void tell(const struct teller *to, const char *name, const char *file, int line)
{
	char *bare = strndup(name, strcspn(name, "@")); /* of a version: name@@GLIBC_2.34 */
	char *plain = bare != NULL ? plain_name(bare) : NULL;

	to->tell(to->arg, plain != NULL ? plain : bare != NULL ? bare : name, file, line);
	free(plain);
	free(bare);
}

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *linked = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) != NULL)
		linked = dwarf_formstring(&attribute);
	return linked != NULL ? linked : dwarf_diename(die);
}

static Dwarf_Word number_of(Dwarf_Die *die, unsigned attribute_name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value = 0;

	dwarf_formudata(dwarf_attr(die, attribute_name, &attribute), &value);
	return value;
}

/* Functions inlined there, innermost first; *file and *line become where the outermost one of them was called. */
static void tell_inlined(Dwfl_Module *module, Dwarf_Addr address, const struct teller *to, const char **file, int *line)
{
	Dwarf_Addr bias = 0;
	Dwarf_Die *unit = dwfl_module_addrdie(module, address, &bias), *scopes = NULL;
	Dwarf_Files *files = NULL;
	int count = unit != NULL ? dwarf_getscopes(unit, address - bias, &scopes) : 0;

	if (unit == NULL || dwarf_getsrcfiles(unit, &files, NULL) != 0)
		files = NULL;
	for (int i = 0; i < count; i++) {
		if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram)
			break;
		const char *name = dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine ? name_of(&scopes[i]) : NULL;
		if (name == NULL)
			continue;
		tell(to, name, *file, *line);
		*line = (int)number_of(&scopes[i], DW_AT_call_line);
		*file = files != NULL ? dwarf_filesrc(files, number_of(&scopes[i], DW_AT_call_file), NULL, NULL) : NULL;
	}
	free(scopes);
}

void symbols_find(struct symbols *symbols, uint64_t address,
		  void (*fn)(void *arg, const char *name, const char *file, int line), void *arg)
{
	Dwfl_Module *module = symbols != NULL && symbols->dwfl != NULL ? dwfl_addrmodule(symbols->dwfl, address) : NULL;
	const char *name = module != NULL ? dwfl_module_addrname(module, address) : NULL, *file = NULL;
	struct teller to = { fn, arg };
	int line = 0;

	if (name == NULL)
		return;
	Dwfl_Line *at = dwfl_module_getsrc(module, address);
	if (at != NULL)
		file = dwfl_lineinfo(at, NULL, &line, NULL, NULL, NULL);
	tell_inlined(module, address, &to, &file, &line);
	tell(&to, name, file, line);
}
