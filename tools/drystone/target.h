/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Another process, or what a core file holds of one: its memory, its mapped files, and where drystone's layout lies in it.
 *
 * Nothing here stops the process or runs code in it. Its memory changes while it is read, and
 * may hold anything: no value from it is believed before it was checked.
 */
#ifndef DRYSTONE_TARGET_H
#define DRYSTONE_TARGET_H

#include <drystone/inspect.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct target_map {
	uint64_t start, end, offset, inode;
	bool readable, writable;
	char *path; /* "" for memory without a name */
};

struct core;

struct target {
	pid_t pid;
	pid_t thread; /* whose files are read: the first one has no memory once it has ended before the others */
	char program[64]; /* its name, printable */
	int mem;           /* /proc/PID/mem, or -1 */
	struct core *core; /* NULL: it is a process */
	struct target_map *maps;
	size_t map_count;
};

enum target_result {
	TARGET_OK,
	TARGET_NO_PROCESS,
	TARGET_ENDED,
	TARGET_NO_PERMISSION,
	TARGET_NOT_DRYSTONE,
	TARGET_CUT, /* a core file that ends early; as NOT_DRYSTONE of what is there */
	TARGET_OTHER_VERSION,
};

enum target_result target_open(struct target *target, pid_t pid);
/* Whether all its threads have ended: it has no memory any more, and stays until its parent asks for its status. */
bool target_has_ended(pid_t pid);
/* core.c: a core file; NULL, or what is wrong with it. */
const char *target_open_core(struct target *target, const char *path);
void target_close(struct target *target);

/* A new entry of the maps, zeroed. */
struct target_map *target_add_map(struct target *target);
/* Name the program; what cannot be printed is replaced. */
void target_name(struct target *target, const char *name, size_t size);

/* Bytes of a process by /proc/PID/status; false: it is none, or has ended. */
struct target_memory {
	uint64_t resident, peak, anonymous, swapped;
};
bool target_memory(const struct target *target, struct target_memory *memory);
/* /proc/PID/pagemap, to be closed; -1: not to be had. */
int target_pagemap(const struct target *target);

/* All `size` bytes at `address`, or false. */
bool target_read(const struct target *target, uint64_t address, void *buffer, size_t size);

/*
 * Read `count` values of 8 bytes. Those that cannot be read are 0 in `values`.
 * Returns how many could be.
 */
size_t target_read_words(const struct target *target, const uint64_t *addresses, size_t count, uint64_t *values);

/* core.c: as target_read(). A part of a file that was mapped, and that nobody wrote to, is not in a core file. */
bool core_read(const struct core *core, uint64_t address, void *buffer, size_t size);
/* Up to where in [start, end) it has all bytes from the start on. */
uint64_t core_end_of(const struct core *core, uint64_t start, uint64_t end);
void core_close(struct core *core);
/* Whether the file ends before what it should hold. */
bool core_is_cut(const struct core *core);

/*
 * layout.c: find and check the layout. TARGET_OTHER_VERSION: *layout holds what was found, of which only
 * version, size and pointer_size mean something. scan: also in a program that was stripped, which takes a look at all its data.
 */
enum target_result target_find_layout(const struct target *target, bool scan, struct dry_inspect *layout);

/* layout.c: the mapped object, other than the C library and drystone, that has a malloc of its own; NULL: none. */
const struct target_map *target_malloc_owner(const struct target *target);

/* elf.c: address of the symbol in the ELF object mapped from `base` on; 0: it has none. */
uint64_t elf_find_symbol(const struct target *target, uint64_t base, const char *name);
/* elf.c: the same by the symbol table in the file `path` (for programs that export nothing). */
uint64_t elf_find_symbol_in_file(const struct target *target, uint64_t base, const char *path, const char *name);
/* elf.c: where the object mapped from `base` on goes when it calls or takes the symbol; 0: it does not, or not yet. */
uint64_t elf_find_bound(const struct target *target, uint64_t base, const char *name);

#endif
