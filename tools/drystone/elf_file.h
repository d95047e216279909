/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* An ELF file on disk: its dynamic linker and what it defines. Damaged files give less, and nothing beyond their end is read. */
#ifndef DRYSTONE_ELF_FILE_H
#define DRYSTONE_ELF_FILE_H

#include <stdbool.h>
#include <stdint.h>

enum elf_file_kind {
	ELF_FILE_UNREADABLE, /* errno says why */
	ELF_FILE_OTHER,      /* no ELF file: a script, for example */
	ELF_FILE_FOREIGN,    /* of another processor, or of another width */
	ELF_FILE_OK,
};

struct elf_file {
	const char *image; /* NULL: closed */
	uint64_t size;
};

enum elf_file_kind elf_file_open(struct elf_file *file, const char *path);
void elf_file_close(struct elf_file *file);

/* Its dynamic linker; NULL: none, it is linked statically or a library. */
const char *elf_file_interpreter(const struct elf_file *file);
/*
 * Visit all symbols while visit gives true. exported: the dynamic linker knows it; value 0: it is not defined here.
 */
typedef bool elf_file_visit(void *arg, const char *name, uint64_t value, bool exported);
void elf_file_symbols(const struct elf_file *file, elf_file_visit *visit, void *arg);

#endif
