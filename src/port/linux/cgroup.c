/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "port/linux/cgroup.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "port/contract.h"
#include "port/linux/filter.h"
#include "port/linux/lines.h"
#include "port/unix/file.h"

/* The beginning of a file, as a text; its length, 0: it cannot be had. */
static size_t read_text(const char *path, char *text, size_t room)
{
	int fd = dry_file_open(path);
	size_t length = 0;
	ptrdiff_t n;

	while (fd >= 0 && length < room - 1 && (n = dry_file_read(fd, text + length, room - 1 - length)) > 0)
		length += (size_t)n;
	if (fd >= 0)
		dry_file_close(fd);
	text[length] = '\0';
	return length;
}

/* Three texts, one behind the other, as far as there is room; the length. A format would take 200 bytes of stack more. */
static DRY_NOINLINE size_t join(char *to, size_t room, const char *first, const char *second, const char *third)
{
	const char *parts[] = { first, second, third };
	size_t length = 0;

	for (size_t i = 0; i < 3; i++)
		for (const char *from = parts[i]; *from != '\0' && length + 1 < room; from++)
			to[length++] = *from;
	to[length] = '\0';
	return length;
}

/* The number in a file; SIZE_MAX: none ("max", or no file). */
static size_t number_in(struct dry_cgroup_room *room, const char *file)
{
	const char *text = room->number;
	size_t value = 0, i = 0;

	if (join(room->path, sizeof(room->path), room->folder, "/", file) >= sizeof(room->path) - 1 ||
	    read_text(room->path, room->number, sizeof(room->number)) == 0)
		return SIZE_MAX;
	for (; text[i] >= '0' && text[i] <= '9'; i++)
		if (__builtin_mul_overflow(value, (size_t)10, &value) ||
		    __builtin_add_overflow(value, (size_t)(text[i] - '0'), &value))
			return SIZE_MAX;
	return i != 0 ? value : SIZE_MAX;
}

/* Of a group and all above it. Its path may be one that is not seen from within a container: then what is seen counts. */
static size_t least(struct dry_cgroup_room *room, const char *root, const char *mount, const char *group, const char *file)
{
	char *folder = room->folder;
	size_t limit = SIZE_MAX, base, value;

	base = join(folder, sizeof(room->folder), root, mount, "");
	if (join(folder, sizeof(room->folder), root, mount, group) >= sizeof(room->folder) - 1)
		folder[base] = '\0';
	for (;;) {
		value = number_in(room, file);
		limit = value < limit ? value : limit;
		char *slash = strrchr(folder, '/');
		if (slash == NULL || (size_t)(slash - folder) < base)
			return limit;
		*slash = '\0';
	}
}

/* Whether a list with commas, which ends at a colon, has "memory". */
static bool has_memory(const char *list, const char *end)
{
	static const char name[] = "memory";
	const size_t length = sizeof(name) - 1;

	for (; list < end; list++) {
		if ((size_t)(end - list) >= length && memcmp(list, name, length) == 0 &&
		    (list + length == end || list[length] == ','))
			return true;
		while (list < end && *list != ',')
			list++;
	}
	return false;
}

/* As much of the list as there is room for, behind what has not been looked at. */
static void read_on(struct dry_cgroup_room *room)
{
	ptrdiff_t n = 1;

	memmove(room->list, room->list + room->at, (size_t)(room->end - room->at));
	room->end = (unsigned short)(room->end - room->at);
	room->at = 0;
	while (room->end < sizeof(room->list) - 1 && n > 0) {
		n = dry_file_read(room->fd, room->list + room->end, sizeof(room->list) - 1 - room->end);
		if (n > 0)
			room->end = (unsigned short)(room->end + n);
	}
	if (n > 0)
		return;
	dry_file_close(room->fd);
	room->fd = -1;
}

/* The next line of the list, of a very long one its beginning; NULL: there is no whole one. */
static DRY_NOINLINE char *next_line(struct dry_cgroup_room *room)
{
	for (;;) {
		char *line = room->list + room->at, *end = memchr(line, '\n', (size_t)(room->end - room->at));
		bool rest = room->cut;

		if (end == NULL && room->end - room->at == sizeof(room->list) - 1) {
			end = line + sizeof(room->list) - 1;
			room->cut = true;
		} else if (end != NULL) {
			room->cut = false;
		} else if (room->fd >= 0) {
			read_on(room);
			continue;
		} else {
			return NULL;
		}
		*end = '\0';
		room->at = (unsigned short)(end - room->list + !room->cut);
		if (!rest)
			return line;
	}
}

size_t dry_linux_cgroup_limit(const char *list, const char *root, struct dry_cgroup_room *room)
{
	char *line, *kinds, *group;
	size_t limit = SIZE_MAX, value = SIZE_MAX;
	int saved = errno;

	room->fd = dry_file_open(list);
	room->at = room->end = 0;
	room->cut = false;
	while ((line = next_line(room)) != NULL) { /* number:kinds:group */
		kinds = strchr(line, ':');
		group = kinds != NULL ? strchr(kinds + 1, ':') : NULL;
		if (group == NULL)
			continue;
		if (group == kinds + 1) {
			value = least(room, root, "", group + 1, "memory.max");
			limit = value < limit ? value : limit;
			value = least(room, root, "/unified", group + 1, "memory.max");
		} else if (has_memory(kinds + 1, group)) {
			value = least(room, root, "/memory", group + 1, "memory.limit_in_bytes");
		}
		limit = value < limit ? value : limit;
	}
	errno = saved;
	return limit;
}

/*
 * Of the machine; SIZE_MAX: not told. From a file, as the rest, for a filter may not have thought of sysinfo(), which libc asks.
 * Apart, and join(), for what reads groups is deep enough (docs/design/stack.md).
 */
static DRY_NOINLINE size_t read_machine(void)
{
	struct dry_linux_lines lines;
	size_t bytes = 0;
	long pages;

	if (dry_linux_lines_open(&lines, "/proc/meminfo")) {
		bytes = (size_t)dry_linux_lines_number(&lines, "MemTotal:", 10, 0) << 10;
		dry_linux_lines_close(&lines);
	}
	if (bytes == 0 && !dry_port_restricted() && (pages = sysconf(_SC_PHYS_PAGES)) > 0)
		bytes = (size_t)pages * dry_port_page_size();
	return bytes != 0 ? bytes : SIZE_MAX;
}

static size_t read_limit(struct dry_cgroup_room *room)
{
	static _Atomic size_t machine; /* read once */
	size_t limit = dry_linux_cgroup_limit("/proc/self/cgroup", "/sys/fs/cgroup", room);
	size_t most = atomic_load_explicit(&machine, memory_order_relaxed);
	int saved = errno;

	if (most == 0) {
		most = read_machine();
		atomic_store_explicit(&machine, most, memory_order_relaxed);
	}
	errno = saved;
	return limit < most ? limit : most;
}

size_t dry_port_memory_limit(void)
{
	struct dry_cgroup_room room;

	return read_limit(&room);
}

size_t dry_port_memory_limit_again(void)
{
	static struct dry_cgroup_room room; /* a caller may have little stack; one at a time is in here */
	size_t limit;

	(void)dry_port_restricted(); /* known from here on: it is asked for below, and its lock is of the same rank */
	if (!dry_linux_look_begin())
		return 0;
	limit = read_limit(&room);
	dry_linux_look_end();
	return limit;
}
