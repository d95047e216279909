/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#define _GNU_SOURCE
#include "target.h"
#include "cli.h"

#include <dirent.h>
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
#define PF_EXITING 4   /* Linux' linux/sched.h */

bool target_read(const struct target *target, uint64_t address, void *buffer, size_t size)
{
	struct iovec local = { buffer, size };
	struct iovec remote = { (void *)(uintptr_t)address, size };

	if (size == 0)
		return true;
	if (target->core != NULL)
		return core_read(target->core, address, buffer, size);
	errno = 0;
	if (address == 0 || address + size < address)
		return false;
	if (process_vm_readv(target->thread, &local, 1, &remote, 1, 0) == (ssize_t)size)
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
	n = process_vm_readv(target->thread, &local, 1, remote, count, 0);
	return n > 0 ? (size_t)n / sizeof(*values) : 0;
}

size_t target_read_words(const struct target *target, const uint64_t *addresses, size_t count, uint64_t *values)
{
	size_t good = 0;

	for (size_t i = 0; i < count;) {
		size_t n = count - i < BATCH ? count - i : BATCH;
		size_t done = target->core != NULL ? 0 : read_batch(target, addresses + i, n, values + i);

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

struct target_map *target_add_map(struct target *target)
{
	size_t count = target->map_count;

	if ((count & (count - 1)) == 0) /* room is the next power of two */
		target->maps = cli_realloc(target->maps, count != 0 ? 2 * count : 1, sizeof(*target->maps));
	target->maps[count] = (struct target_map){ 0 };
	return &target->maps[target->map_count++];
}

void target_name(struct target *target, const char *name, size_t size)
{
	size_t n = 0;

	for (; n < size && n + 1 < sizeof(target->program) && name[n] != '\0' && name[n] != '\n'; n++)
		target->program[n] = name[n] >= ' ' && name[n] <= '~' ? name[n] : '?';
	target->program[n] = '\0';
}

/* What the file /proc/PID/NAME begins with; NUL-terminated. */
static void read_file(const struct target *target, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n = -1;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)target->thread, name);
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file >= 0) {
		n = read(file, text, size - 1);
		close(file);
	}
	text[n > 0 ? n : 0] = '\0';
}

bool target_memory(const struct target *target, struct target_memory *memory)
{
	static const struct {
		const char *key;
		size_t offset;
	} keys[] = { { "\nVmRSS:", offsetof(struct target_memory, resident) },
		     { "\nVmHWM:", offsetof(struct target_memory, peak) },
		     { "\nRssAnon:", offsetof(struct target_memory, anonymous) },
		     { "\nVmSwap:", offsetof(struct target_memory, swapped) } };
	char text[8192];

	*memory = (struct target_memory){ 0 };
	if (target->core != NULL)
		return false;
	read_file(target, "status", text, sizeof(text));
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *at = strstr(text, keys[i].key);
		if (at == NULL)
			return false; /* it has ended */
		*(uint64_t *)(void *)((char *)memory + keys[i].offset) = strtoull(at + strlen(keys[i].key), NULL, 10) * 1024;
	}
	return true;
}

int target_pagemap(const struct target *target)
{
	char name[64];

	if (target->core != NULL)
		return -1;
	snprintf(name, sizeof(name), "/proc/%d/pagemap", (int)target->thread);
	return open(name, O_RDONLY | O_CLOEXEC);
}

static bool read_maps(struct target *target)
{
	char name[64], *line = NULL;
	size_t size = 0;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)target->thread);
	file = fopen(name, "re");
	if (file == NULL)
		return false;
	errno = 0;
	while (getline(&line, &size, file) > 0) {
		if (!parse_map(line, target_add_map(target)))
			target->map_count--;
	}
	free(line);
	fclose(file);
	return true;
}

/* By the first thread that has memory. What is there in no thread, a kernel thread's, is no error. */
static bool read_maps_of_others(struct target *target)
{
	char name[64];
	DIR *threads;

	snprintf(name, sizeof(name), "/proc/%d/task", (int)target->pid);
	threads = opendir(name);
	if (threads == NULL)
		return false;
	for (struct dirent *entry; target->map_count == 0 && (entry = readdir(threads)) != NULL;) {
		target->thread = (pid_t)strtol(entry->d_name, NULL, 10);
		if (target->thread > 0)
			(void)read_maps(target);
	}
	closedir(threads);
	if (target->map_count == 0)
		target->thread = target->pid;
	return true;
}

/* By its state and flags; see proc_pid_stat(5). */
static bool has_thread_ended(pid_t pid, const char *thread)
{
	char name[320], text[512] = "", state = 'X';
	unsigned flags = 0;
	const char *end;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/task/%s/stat", (int)pid, thread);
	file = fopen(name, "re");
	if (file == NULL)
		return errno == ENOENT || errno == ESRCH;
	if (fgets(text, sizeof(text), file) == NULL)
		text[0] = '\0';
	fclose(file);
	end = strrchr(text, ')'); /* of the name, which may hold any */
	if (end != NULL && sscanf(end, ") %c %*d %*d %*d %*d %*d %u", &state, &flags) != 2)
		return false;
	return state == 'Z' || state == 'X' || (flags & PF_EXITING) != 0;
}

bool target_has_ended(pid_t pid)
{
	bool ended = true;
	char name[64];
	DIR *threads;

	snprintf(name, sizeof(name), "/proc/%d/task", (int)pid);
	threads = opendir(name);
	if (threads == NULL)
		return errno == ENOENT;
	for (struct dirent *entry; ended && (entry = readdir(threads)) != NULL;)
		if (entry->d_name[0] != '.')
			ended = has_thread_ended(pid, entry->d_name);
	closedir(threads);
	return ended;
}

enum target_result target_open(struct target *target, pid_t pid)
{
	char name[64];

	*target = (struct target){ .pid = pid, .thread = pid, .mem = -1 };
	if (kill(pid, 0) != 0 && errno == ESRCH)
		return TARGET_NO_PROCESS;
	if (!read_maps(target) || (target->map_count == 0 && !read_maps_of_others(target)))
		return errno == ENOENT || errno == ESRCH ? TARGET_NO_PROCESS : TARGET_NO_PERMISSION;
	if (target->map_count == 0 && target_has_ended(pid))
		return TARGET_ENDED;
	read_file(target, "comm", name, sizeof(name));
	target_name(target, name, sizeof(name));
	snprintf(name, sizeof(name), "/proc/%d/mem", (int)target->thread);
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
	if (target->core != NULL)
		core_close(target->core);
	*target = (struct target){ .mem = -1 };
}
