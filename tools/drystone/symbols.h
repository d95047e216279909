/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Functions at addresses of another process, from the files that it has mapped and their debug files; by elfutils. */
#ifndef DRYSTONE_SYMBOLS_H
#define DRYSTONE_SYMBOLS_H

#include "target.h"

struct symbols;

/*
 * root: "/proc/PID/root" of a process that is there, whose files may be others than those of their names here; "": of none.
 * NULL: nothing is known, which the others take.
 */
struct symbols *symbols_open(const struct target_map *maps, size_t count, const char *root);
/* Whether a file that was opened alone is the build whose ID begins so; also if it has no ID, or `id` is "". */
bool symbols_is_build(const struct symbols *symbols, const char *id);
/* Of one file, alone; *base becomes the address of what is at offset 0 in it when it is mapped. NULL: it cannot be read. */
struct symbols *symbols_open_file(const char *path, uint64_t *base);
void symbols_close(struct symbols *symbols);

/* Tells of the functions that an instruction is in: innermost first, then those that they are inlined into; none: not known. */
void symbols_find(struct symbols *symbols, uint64_t address,
		  void (*tell)(void *arg, const char *name, const char *file, int line), void *arg);

#endif
