/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#define _GNU_SOURCE
#include "target.h"
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define BATCH      512 /* pieces in one call; below IOV_MAX */
#define SCAN_LIMIT ((uint64_t)256 << 20)

bool target_read(const struct target *target, uint64_t address, void *buffer, size_t size)
{
	struct iovec local = { buffer, size };
	struct iovec remote = { (void *)(uintptr_t)address, size };

	if (size == 0)
		return true;
	errno = 0;
	if (address == 0 || address + size < address)
		return false;
	if (process_vm_readv(target->pid, &local, 1, &remote, 1, 0) == (ssize_t)size)
		return true;
	/*
	 * The call is not in every kernel, and filtered in some containers; the file then still
	 * works. EFAULT is an answer, though: the file would go on to read memory that is protected.
	 */
	return target->mem >= 0 && errno != EFAULT && pread(target->mem, buffer, size, (off_t)address) == (ssize_t)size;
}

/* Up to BATCH of them at once; the number that were read before the first that could not. */
static size_t read_batch(const struct target *target, const uint64_t *addresses, size_t count, uint64_t *values)
{
	struct iovec local = { values, count * sizeof(*values) }, remote[BATCH];
	ssize_t n;

	for (size_t i = 0; i < count; i++) {
		remote[i].iov_base = (void *)(uintptr_t)addresses[i];
		remote[i].iov_len = sizeof(*values);
	}
	n = process_vm_readv(target->pid, &local, 1, remote, count, 0);
	return n > 0 ? (size_t)n / sizeof(*values) : 0;
}

size_t target_read_words(const struct target *target, const uint64_t *addresses, size_t count, uint64_t *values)
{
	size_t good = 0;

	for (size_t i = 0; i < count;) {
		size_t n = count - i < BATCH ? count - i : BATCH;
		size_t done = read_batch(target, addresses + i, n, values + i);

		good += done;
		i += done;
		if (done < n) {
			bool ok = target_read(target, addresses[i], &values[i], sizeof(values[i]));
			if (!ok)
				values[i] = 0;
			good += ok;
			i++;
		}
	}
	return good;
}

static bool parse_map(char *line, struct target_map *map)
{
	char access[5];
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*x:%*x %" SCNu64 " %n", &map->start, &map->end,
		   access, &map->offset, &map->inode, &path) != 5 || path == 0)
		return false;
	line[strcspn(line, "\n")] = '\0';
	map->readable = access[0] == 'r';
	map->writable = access[1] == 'w';
	map->path = strdup(line + path);
	return map->path != NULL;
}

static bool read_maps(struct target *target)
{
	char name[64], *line = NULL;
	size_t size = 0, room = 0;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)target->pid);
	file = fopen(name, "re");
	if (file == NULL)
		return false;
	errno = 0;
	while (getline(&line, &size, file) > 0) {
		if (target->map_count == room) {
			room = room != 0 ? room * 2 : 256;
			target->maps = cli_realloc(target->maps, room, sizeof(*target->maps));
		}
		if (parse_map(line, &target->maps[target->map_count]))
			target->map_count++;
	}
	free(line);
	fclose(file);
	return true;
}

enum target_result target_open(struct target *target, pid_t pid)
{
	char name[64];

	*target = (struct target){ .pid = pid, .mem = -1 };
	if (kill(pid, 0) != 0 && errno == ESRCH)
		return TARGET_NO_PROCESS;
	if (!read_maps(target))
		return errno == ENOENT || errno == ESRCH ? TARGET_NO_PROCESS : TARGET_NO_PERMISSION;
	snprintf(name, sizeof(name), "/proc/%d/mem", (int)pid);
	target->mem = open(name, O_RDONLY | O_CLOEXEC);
	if (target->mem < 0 && target->map_count != 0) {
		char byte;
		/* maps may be readable where memory is not; find out on memory that is there. */
		for (size_t i = 0; i < target->map_count; i++)
			if (target->maps[i].readable && target_read(target, target->maps[i].start, &byte, 1))
				return TARGET_OK;
		return TARGET_NO_PERMISSION;
	}
	return TARGET_OK;
}

void target_close(struct target *target)
{
	for (size_t i = 0; i < target->map_count; i++)
		free(target->maps[i].path);
	free(target->maps);
	if (target->mem >= 0)
		close(target->mem);
	*target = (struct target){ .mem = -1 };
}

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
static bool scan_map(const struct target *target, const struct target_map *map, struct dry_inspect *layout)
{
	char block[65536];

	for (uint64_t at = map->start; at < map->end; at += sizeof(block)) {
		size_t size = map->end - at < sizeof(block) ? (size_t)(map->end - at) : sizeof(block);

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

static bool scan_program(const struct target *target, const char *program, struct dry_inspect *layout)
{
	uint64_t scanned = 0;

	for (size_t i = 0; i < target->map_count; i++) {
		const struct target_map *map = &target->maps[i];

		if (!map->readable || strcmp(map->path, program) != 0)
			continue;
		scanned += map->end - map->start;
		if (scanned > SCAN_LIMIT)
			return false;
		if (scan_map(target, map, layout))
			return true;
	}
	return false;
}

enum target_result target_find_layout(const struct target *target, struct dry_inspect *layout)
{
	char link[64], program[4096];
	ssize_t n;
	bool found = false;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)target->pid);
	n = readlink(link, program, sizeof(program) - 1);
	program[n > 0 ? n : 0] = '\0';
	for (size_t i = 0; i < target->map_count && !found; i++) {
		const struct target_map *map = &target->maps[i];

		if (!map->readable || map->offset != 0 || map->inode == 0)
			continue;
		found = read_layout(target, elf_find_symbol(target, map->start, DRY_INSPECT_SYMBOL), layout);
		if (!found && n > 0 && strcmp(map->path, program) == 0) {
			uint64_t at = elf_find_symbol_in_file(target, map->start, link, DRY_INSPECT_SYMBOL);
			found = read_layout(target, at, layout);
		}
	}
	if (!found && n > 0)
		found = scan_program(target, program, layout);
	if (!found)
		return TARGET_NOT_DRYSTONE;
	if (layout->version != DRY_INSPECT_VERSION || layout->size != sizeof(*layout) ||
	    layout->pointer_size != sizeof(void *))
		return TARGET_OTHER_VERSION;
	return TARGET_OK;
}
