/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The part of POSIX's <sys/mman.h> that the tests use; tests/targets/posix.c has the calls. */
#ifndef DRY_TARGETS_MMAN_H
#define DRY_TARGETS_MMAN_H

#include <stddef.h>

#define PROT_READ     1
#define PROT_WRITE    2
#define MAP_PRIVATE   2
#define MAP_ANONYMOUS 32
#define MAP_FAILED    ((void *)-1)

void *mmap(void *address, size_t size, int protection, int flags, int fd, long offset);
int munmap(void *address, size_t size);

#endif
