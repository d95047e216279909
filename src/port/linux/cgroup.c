/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "port/linux/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/fmt.h"
#include "port/contract.h"

/* The beginning of a file, as a text; its length, 0: it cannot be had. */
static size_t read_text(const char *path, char *text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t n;

	while (fd >= 0 && length < room - 1 && (n = read(fd, text + length, room - 1 - length)) > 0)
		length += (size_t)n;
	if (fd >= 0)
		close(fd);
	text[length] = '\0';
	return length;
}

/* The number in a file; SIZE_MAX: none ("max", or no file). */
static size_t number_in(const char *folder, const char *file)
{
	char path[512], text[32];
	size_t value = 0, i = 0;

	if (dry_format(path, sizeof(path), "%s/%s", folder, file) >= sizeof(path) - 1 || read_text(path, text, sizeof(text)) == 0)
		return SIZE_MAX;
	for (; text[i] >= '0' && text[i] <= '9'; i++)
		if (__builtin_mul_overflow(value, (size_t)10, &value) ||
		    __builtin_add_overflow(value, (size_t)(text[i] - '0'), &value))
			return SIZE_MAX;
	return i != 0 ? value : SIZE_MAX;
}

/* Of a group and all above it. Its path may be one that is not seen from within a container: then what is seen counts. */
static size_t least(const char *root, const char *mount, const char *group, const char *file)
{
	char folder[512];
	size_t limit = SIZE_MAX, base, value;

	base = dry_format(folder, sizeof(folder), "%s%s", root, mount);
	if (dry_format(folder, sizeof(folder), "%s%s%s", root, mount, group) >= sizeof(folder) - 1)
		folder[base] = '\0';
	for (;;) {
		value = number_in(folder, file);
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

size_t dry_linux_cgroup_limit(const char *list, const char *root)
{
	char text[2048], *line = text, *next, *kinds, *group;
	size_t limit = SIZE_MAX, value = SIZE_MAX;
	int saved = errno;

	if (read_text(list, text, sizeof(text)) == 0)
		text[0] = '\0';
	for (; *line != '\0'; line = next) { /* number:kinds:group */
		next = strchr(line, '\n');
		if (next == NULL)
			break;
		*next++ = '\0';
		kinds = strchr(line, ':');
		group = kinds != NULL ? strchr(kinds + 1, ':') : NULL;
		if (group == NULL)
			continue;
		if (group == kinds + 1) {
			value = least(root, "", group + 1, "memory.max");
			limit = value < limit ? value : limit;
			value = least(root, "/unified", group + 1, "memory.max");
		} else if (has_memory(kinds + 1, group)) {
			value = least(root, "/memory", group + 1, "memory.limit_in_bytes");
		}
		limit = value < limit ? value : limit;
	}
	errno = saved;
	return limit;
}

size_t dry_port_memory_limit(void)
{
	size_t limit = dry_linux_cgroup_limit("/proc/self/cgroup", "/sys/fs/cgroup");
	long pages = sysconf(_SC_PHYS_PAGES);

	if (pages > 0 && (size_t)pages < limit / dry_port_page_size())
		limit = (size_t)pages * dry_port_page_size();
	return limit;
}
