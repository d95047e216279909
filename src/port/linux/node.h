/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef DRY_PORT_LINUX_NODE_H
#define DRY_PORT_LINUX_NODE_H

#include <stddef.h>
#include <stdint.h>

/* A list of numbers such as "0-3,8", from sysfs: those below 64 as a set; the highest + 1. 0: it cannot be read. */
unsigned dry_linux_list(const char *path, uint64_t *set);

/* at: of the node in a thread's area of restartable sequences, from its thread pointer; 0: the kernel does not write it. */
void dry_linux_node_init(ptrdiff_t at);

/* How many links a folder has; 0: there is none. By the call that the dynamic linker makes (file.c). Changes errno. */
unsigned long dry_linux_links(const char *path);

#endif
