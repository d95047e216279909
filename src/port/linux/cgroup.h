/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef DRY_PORT_LINUX_CGROUP_H
#define DRY_PORT_LINUX_CGROUP_H

#include <stddef.h>

/*
 * The smallest memory limit of the groups that the process is in, both kinds, and of those above them: `list` is what
 * the kernel says of them (/proc/self/cgroup), `root` where they are mounted (/sys/fs/cgroup). SIZE_MAX: none to be found.
 */
size_t dry_linux_cgroup_limit(const char *list, const char *root);

#endif
