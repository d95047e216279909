/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the memory files of the linux and the posix port have in common. Keeps errno where nothing else is said. */
#ifndef DRY_PORT_UNIX_MAP_H
#define DRY_PORT_UNIX_MAP_H

#include <stddef.h>

/* What committed memory may be used for: reads and writes, and tags where they are used. relaxed: no tag is missed */
extern _Atomic int dry_unix_access;

/* A private anonymous mapping with extra mmap flags. NULL: no room, and errno says why. */
typedef void *dry_unix_mapper(size_t size, int prot, int flags);
dry_unix_mapper dry_unix_map;

/* The same aligned, of one or two that `map` makes. Keeps errno. */
void *dry_unix_map_aligned(size_t size, size_t align, int prot, int flags, dry_unix_mapper *map);

/*
 * Put fresh zero memory, readable and writable, in place of a range. If the
 * system refuses, the range is cleared by hand: slower, and the memory stays.
 */
void dry_unix_replace(void *addr, size_t size, int flags);

/*
 * Put a fresh mapping that faults in place of a range. flags: those of the reservation around it, else the system keeps the two
 * apart, and counts two mappings more for each such place. 0 or -ENOMEM.
 */
int dry_unix_decommit(void *addr, size_t size, int flags);

/* Readable and writable from now on. 0 or -ENOMEM. */
int dry_unix_commit(void *addr, size_t size);

/* Give a range back; purge: what is done to memory whose mapping the system refuses to split. */
void dry_unix_release(void *addr, size_t size, void (*purge)(void *addr, size_t size));

#endif
