/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Where the layout that the library publishes lies in a process: by its symbol, else by its magic. */
#include "target.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCAN_LIMIT ((uint64_t)256 << 20)

/* Read a layout. false: there is none at this address. */
static bool read_layout(const struct target *target, uint64_t address, struct dry_inspect *layout)
{
	size_t head = offsetof(struct dry_inspect, node_size);

	memset(layout, 0, sizeof(*layout));
	/* The head first: what follows may be shorter in another version, and end the mapping. */
	if (address == 0 || !target_read(target, address, layout, head) ||
	    memcmp(layout->magic, DRY_INSPECT_MAGIC, sizeof(layout->magic)) != 0)
		return false;
	if (layout->version != DRY_INSPECT_VERSION || layout->size != sizeof(*layout))
		return layout->version != 0 && layout->size >= head && layout->size < 1 << 20;
	return target_read(target, address, layout, sizeof(*layout)) && layout->heaps != NULL;
}

/* Look for the magic in the data of the program itself: it was stripped. */
static bool scan_map(const struct target *target, uint64_t start, uint64_t end, struct dry_inspect *layout)
{
	char block[65536];

	for (uint64_t at = start; at < end; at += sizeof(block)) {
		size_t size = end - at < sizeof(block) ? (size_t)(end - at) : sizeof(block);

		if (!target_read(target, at, block, size))
			continue;
		/* Aligned as the struct is, so it never straddles two blocks with its magic. */
		for (size_t i = 0; i + sizeof(layout->magic) <= size; i += 8)
			if (memcmp(block + i, DRY_INSPECT_MAGIC, sizeof(layout->magic)) == 0 &&
			    read_layout(target, at + i, layout) && layout->pointer_size == sizeof(void *))
				return true;
	}
	return false;
}

/*
 * A core file has no part of a file that nobody wrote to. In a program with fixed addresses the layout is such a part, so
 * that it is found in the file itself, where that is still there.
 */
static bool scan_file(const struct target_map *map, struct dry_inspect *layout)
{
	uint64_t size = map->end - map->start < SCAN_LIMIT ? map->end - map->start : SCAN_LIMIT;
	bool found = false;
	struct stat info;
	char block[65536];
	ssize_t n;
	int file;

	if (stat(map->path, &info) != 0 || !S_ISREG(info.st_mode)) /* a core file may name anything: nothing else is opened */
		return false;
	file = open(map->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	for (uint64_t at = 0; file >= 0 && at < size && !found; at += sizeof(block)) {
		/* no further: what lies behind it in the file may be relocated in memory */
		n = pread(file, block, size - at < sizeof(block) ? size - at : sizeof(block), (off_t)(map->offset + at));
		for (ssize_t i = 0; i + (ssize_t)sizeof(layout->magic) <= n && !found; i += 8)
			found = memcmp(block + i, DRY_INSPECT_MAGIC, sizeof(layout->magic)) == 0 &&
				pread(file, layout, sizeof(*layout), (off_t)(map->offset + at) + i) == sizeof(*layout) &&
				layout->pointer_size == sizeof(void *) && layout->heaps != NULL;
	}
	if (file >= 0)
		close(file);
	return found;
}

static bool scan_files(const struct target *target, struct dry_inspect *layout)
{
	for (size_t i = 0; i < target->map_count; i++)
		if (!target->maps[i].readable && scan_file(&target->maps[i], layout))
			return true;
	return false;
}

/* The parts of the program; of a core file those of any file, as far as it has them. What is too big is passed over. */
static bool scan_program(const struct target *target, const char *program, struct dry_inspect *layout)
{
	uint64_t scanned = 0;

	for (size_t i = 0; i < target->map_count; i++) {
		const struct target_map *map = &target->maps[i];
		uint64_t end = map->end;

		if (!map->readable || (program != NULL && strcmp(map->path, program) != 0))
			continue;
		if (target->core != NULL)
			end = core_end_of(target->core, map->start, map->end);
		if (end - map->start > SCAN_LIMIT - scanned)
			continue;
		scanned += end - map->start;
		if (scan_map(target, map->start, end, layout))
			return true;
	}
	return false;
}

/* By symbols, in each ELF object that is mapped: of one that has malloc(), too, or else the first. */
static bool find_by_symbol(const struct target *target, const char *link, const char *program, struct dry_inspect *layout)
{
	bool found = false, serves = false;
	struct dry_inspect here;

	for (size_t i = 0; i < target->map_count && !serves; i++) {
		const struct target_map *map = &target->maps[i];

		if (!map->readable || map->offset != 0 || map->inode == 0)
			continue;
		if (read_layout(target, elf_find_symbol(target, map->start, DRY_INSPECT_SYMBOL), &here))
			serves = elf_find_symbol(target, map->start, "malloc") != 0;
		else if (program[0] != '\0' && strcmp(map->path, program) == 0 &&
			 read_layout(target, elf_find_symbol_in_file(target, map->start, link, DRY_INSPECT_SYMBOL), &here))
			serves = elf_find_symbol_in_file(target, map->start, link, "malloc") != 0;
		else
			continue;
		if (!found || serves)
			*layout = here;
		found = true;
	}
	return found;
}

enum target_result target_find_layout(const struct target *target, bool scan, struct dry_inspect *layout)
{
	char link[64], program[4096] = "";
	ssize_t n;
	bool found;

	if (target->core != NULL) {
		/* Symbols are in parts that a core file leaves out; the layout itself was relocated and is there. */
		found = scan_program(target, NULL, layout) || scan_files(target, layout);
	} else {
		snprintf(link, sizeof(link), "/proc/%d/exe", (int)target->thread);
		n = readlink(link, program, sizeof(program) - 1);
		program[n > 0 ? n : 0] = '\0';
		found = find_by_symbol(target, link, program, layout) ||
			(scan && n > 0 && scan_program(target, program, layout));
	}
	if (!found)
		return target->core != NULL && core_is_cut(target->core) ? TARGET_CUT : TARGET_NOT_DRYSTONE;
	if (layout->version != DRY_INSPECT_VERSION || layout->size != sizeof(*layout) ||
	    layout->pointer_size != sizeof(void *))
		return TARGET_OTHER_VERSION;
	return TARGET_OK;
}

const struct target_map *target_malloc_owner(const struct target *target)
{
	for (size_t i = 0; i < target->map_count; i++) {
		const struct target_map *map = &target->maps[i];

		if (map->readable && map->offset == 0 && map->inode != 0 &&
		    elf_find_symbol(target, map->start, "malloc") != 0 &&
		    elf_find_symbol(target, map->start, DRY_INSPECT_SYMBOL) == 0 &&
		    elf_find_symbol(target, map->start, "gnu_get_libc_version") == 0 && /* libc itself, ld.so */
		    elf_find_symbol(target, map->start, "_dl_mcount") == 0)
			return map;
	}
	return NULL;
}
