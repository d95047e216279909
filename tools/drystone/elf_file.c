/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Formats: System V ABI, chapters 4 and 5. */
#include "elf_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef ElfW(Ehdr) Header;
typedef ElfW(Phdr) Segment;
typedef ElfW(Shdr) Section;
typedef ElfW(Sym) Symbol;

/* Whether `count` things of `size` bytes from `offset` on lie within the file, aligned as its parts are. */
static bool within(const struct elf_file *file, uint64_t offset, uint64_t count, uint64_t size)
{
	return offset <= file->size && count <= (file->size - offset) / size && (size == 1 || offset % 8 == 0);
}

static const void *at(const struct elf_file *file, uint64_t offset)
{
	return file->image + offset;
}

static const Header *header_of(const struct elf_file *file)
{
	return at(file, 0);
}

static uint16_t own_machine(void)
{
	static uint16_t machine;
	Header header;
	int self;

	if (machine == 0 && (self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)) >= 0) {
		if (pread(self, &header, sizeof(header), 0) == sizeof(header))
			machine = header.e_machine;
		close(self);
	}
	return machine;
}

static enum elf_file_kind kind_of(const struct elf_file *file)
{
	const Header *header = header_of(file);

	if (file->size < EI_NIDENT || memcmp(file->image, ELFMAG, SELFMAG) != 0)
		return ELF_FILE_OTHER;
	if (file->size < sizeof(*header) || header->e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
	    (own_machine() != 0 && header->e_machine != own_machine()))
		return ELF_FILE_FOREIGN;
	return ELF_FILE_OK;
}

enum elf_file_kind elf_file_open(struct elf_file *file, const char *path)
{
	struct stat info = { 0 };
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	enum elf_file_kind kind = ELF_FILE_UNREADABLE;

	*file = (struct elf_file){ 0 };
	if (descriptor < 0)
		return kind;
	if (fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode)) {
		kind = ELF_FILE_OTHER;
		if (info.st_size > 0) {
			void *image = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
			if (image != MAP_FAILED) {
				*file = (struct elf_file){ image, (uint64_t)info.st_size };
				kind = kind_of(file);
			}
		}
	} else {
		errno = S_ISDIR(info.st_mode) ? EISDIR : EACCES;
	}
	close(descriptor);
	if (kind != ELF_FILE_OK)
		elf_file_close(file);
	return kind;
}

void elf_file_close(struct elf_file *file)
{
	if (file->image != NULL)
		munmap((void *)(uintptr_t)file->image, (size_t)file->size);
	*file = (struct elf_file){ 0 };
}

const char *elf_file_interpreter(const struct elf_file *file)
{
	const Header *header = header_of(file);

	if (header->e_phentsize != sizeof(Segment) || !within(file, header->e_phoff, header->e_phnum, sizeof(Segment)))
		return NULL;
	const Segment *segment = at(file, header->e_phoff);
	for (unsigned i = 0; i < header->e_phnum; i++)
		if (segment[i].p_type == PT_INTERP && segment[i].p_filesz != 0 &&
		    within(file, segment[i].p_offset, segment[i].p_filesz, 1) &&
		    file->image[segment[i].p_offset + segment[i].p_filesz - 1] == '\0')
			return at(file, segment[i].p_offset);
	return NULL;
}

/* The sections; *count of them. */
static const Section *sections_of(const struct elf_file *file, unsigned *count)
{
	const Header *header = header_of(file);

	*count = 0;
	if (header->e_shentsize != sizeof(Section) || !within(file, header->e_shoff, header->e_shnum, sizeof(Section)))
		return NULL;
	*count = header->e_shnum;
	return at(file, header->e_shoff);
}

/* The strings that a section refers to, which end by a NUL; NULL: none. */
static const Section *strings_of(const struct elf_file *file, const Section *sections, unsigned count, const Section *section)
{
	const Section *strings;

	if (section->sh_link >= count)
		return NULL;
	strings = &sections[section->sh_link];
	if (strings->sh_type != SHT_STRTAB || strings->sh_size == 0 || !within(file, strings->sh_offset, strings->sh_size, 1) ||
	    file->image[strings->sh_offset + strings->sh_size - 1] != '\0')
		return NULL;
	return strings;
}

void elf_file_symbols(const struct elf_file *file, elf_file_visit *visit, void *arg)
{
	unsigned count;
	const Section *section = sections_of(file, &count);

	for (unsigned i = 0; i < count; i++) {
		const Section *strings;
		uint64_t entries = section[i].sh_size / sizeof(Symbol);

		if ((section[i].sh_type != SHT_SYMTAB && section[i].sh_type != SHT_DYNSYM) ||
		    !within(file, section[i].sh_offset, entries, sizeof(Symbol)) ||
		    (strings = strings_of(file, section, count, &section[i])) == NULL)
			continue;
		const Symbol *symbol = at(file, section[i].sh_offset);
		for (; entries != 0; entries--, symbol++)
			if (symbol->st_name < strings->sh_size &&
			    !visit(arg, at(file, strings->sh_offset + symbol->st_name),
				   symbol->st_shndx != SHN_UNDEF ? symbol->st_value : 0, section[i].sh_type == SHT_DYNSYM))
				return;
	}
}
