/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef DRY_PORT_LINUX_CGROUP_H
#define DRY_PORT_LINUX_CGROUP_H

#include <stddef.h>

/* What reading takes, brought by the caller: too much for a small stack. */
struct dry_cgroup_room {
	char list[2048], folder[512], path[512], number[32];
};

/*
 * The smallest memory limit of the groups that the process is in, both kinds, and of those above them: `list` is what
 * the kernel says of them (/proc/self/cgroup), `root` where they are mounted (/sys/fs/cgroup). SIZE_MAX: none to be found.
 */
size_t dry_linux_cgroup_limit(const char *list, const char *root, struct dry_cgroup_room *room);

#endif
