/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef DRY_PORT_LINUX_CGROUP_H
#define DRY_PORT_LINUX_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

/* What reading takes, brought by the caller: too much for a small stack. */
struct dry_cgroup_room {
	char list[2032], folder[512], path[512], number[32];
	int fd;                  /* of the list; -1: its end has been read */
	unsigned short at, end;  /* what of list[] comes next */
	bool cut;                /* it is the rest of a line that was too long */
};

/*
 * The smallest memory limit of the groups that the process is in, both kinds, and of those above them: `list` is what
 * the kernel says of them (/proc/self/cgroup), `root` where they are mounted (/sys/fs/cgroup). SIZE_MAX: none to be found.
 */
size_t dry_linux_cgroup_limit(const char *list, const char *root, struct dry_cgroup_room *room);

#endif
