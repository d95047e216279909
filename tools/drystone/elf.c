/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Symbols of an ELF object of another process: by its dynamic symbols as they lie in
 * memory, which works for files that were deleted or replaced, else by the symbol table of
 * the file. Formats: System V ABI, chapters 4 and 5; the GNU hash table as in its linker.
 */
#define _GNU_SOURCE
#include "target.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SEGMENTS 64
#define MAX_DYNAMIC  256
#define MAX_SYMBOLS  (1u << 20)
#define MAX_NAME     64

typedef ElfW(Ehdr) Header;
typedef ElfW(Phdr) Segment;
typedef ElfW(Dyn) Dynamic;
typedef ElfW(Sym) Symbol;

struct object {
	const struct target *target;
	uint64_t bias; /* added to an address in the file */
	uint64_t dynamic, dynamic_size;
	uint64_t symbols, strings, gnu_hash, hash; /* addresses; 0: none */
};

static bool is_elf(const Header *header)
{
	return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
	       header->e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32);
}

static bool read_segments(struct object *object, uint64_t base)
{
	Header header;
	Segment segments[MAX_SEGMENTS];
	bool have_bias = false;

	if (!target_read(object->target, base, &header, sizeof(header)) || !is_elf(&header) ||
	    header.e_phentsize != sizeof(Segment) || header.e_phnum > MAX_SEGMENTS ||
	    !target_read(object->target, base + header.e_phoff, segments, header.e_phnum * sizeof(Segment)))
		return false;
	for (unsigned i = 0; i < header.e_phnum; i++) {
		if (segments[i].p_type == PT_LOAD && !have_bias) {
			object->bias = base - (segments[i].p_vaddr - segments[i].p_offset);
			have_bias = true;
		} else if (segments[i].p_type == PT_DYNAMIC) {
			object->dynamic = segments[i].p_vaddr;
			object->dynamic_size = segments[i].p_memsz;
		}
	}
	return have_bias;
}

/* glibc adds the bias to these entries in memory, other loaders do not. */
static uint64_t address_of(const struct object *object, uint64_t value)
{
	return value >= object->bias ? value : value + object->bias;
}

static bool read_dynamic(struct object *object)
{
	Dynamic entries[MAX_DYNAMIC];
	size_t count = object->dynamic_size / sizeof(Dynamic);

	if (count > MAX_DYNAMIC)
		count = MAX_DYNAMIC;
	if (object->dynamic == 0 ||
	    !target_read(object->target, object->dynamic + object->bias, entries, count * sizeof(Dynamic)))
		return false;
	for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
		uint64_t address = address_of(object, entries[i].d_un.d_ptr);
		switch (entries[i].d_tag) {
		case DT_SYMTAB:
			object->symbols = address;
			break;
		case DT_STRTAB:
			object->strings = address;
			break;
		case DT_GNU_HASH:
			object->gnu_hash = address;
			break;
		case DT_HASH:
			object->hash = address;
			break;
		}
	}
	return object->symbols != 0 && object->strings != 0;
}

/* Address of symbol `index` if it is a defined one of this name; else 0. */
static uint64_t match(const struct object *object, uint32_t index, const char *name)
{
	Symbol symbol;
	char text[MAX_NAME];
	size_t size = strlen(name) + 1;

	if (size > sizeof(text) || index >= MAX_SYMBOLS ||
	    !target_read(object->target, object->symbols + (uint64_t)index * sizeof(symbol), &symbol,
			 sizeof(symbol)) ||
	    symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0 ||
	    !target_read(object->target, object->strings + symbol.st_name, text, size) ||
	    memcmp(text, name, size) != 0)
		return 0;
	return symbol.st_value + object->bias;
}

static uint32_t gnu_hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name != '\0'; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static uint64_t find_by_gnu_hash(const struct object *object, const char *name)
{
	uint32_t head[4]; /* buckets, first symbol, words of the filter, its shift */
	uint32_t hash = gnu_hash_of(name), index, chained;
	uint64_t buckets, chains, found;

	if (!target_read(object->target, object->gnu_hash, head, sizeof(head)) || head[0] == 0 ||
	    head[2] > MAX_SYMBOLS)
		return 0;
	buckets = object->gnu_hash + sizeof(head) + (uint64_t)head[2] * sizeof(ElfW(Addr));
	chains = buckets + (uint64_t)head[0] * 4;
	if (!target_read(object->target, buckets + (uint64_t)(hash % head[0]) * 4, &index, 4) || index < head[1])
		return 0;
	for (unsigned steps = 0; steps < 1000; steps++, index++) {
		if (!target_read(object->target, chains + (uint64_t)(index - head[1]) * 4, &chained, 4))
			return 0;
		if ((chained | 1) == (hash | 1) && (found = match(object, index, name)) != 0)
			return found;
		if (chained & 1)
			return 0;
	}
	return 0;
}

static uint64_t find_by_table(const struct object *object, const char *name)
{
	uint32_t head[2]; /* buckets, symbols */

	if (!target_read(object->target, object->hash, head, sizeof(head)))
		return 0;
	for (uint32_t i = 1; i < head[1] && i < MAX_SYMBOLS; i++) {
		uint64_t found = match(object, i, name);
		if (found != 0)
			return found;
	}
	return 0;
}

uint64_t elf_find_symbol(const struct target *target, uint64_t base, const char *name)
{
	struct object object = { .target = target };

	if (!read_segments(&object, base) || !read_dynamic(&object))
		return 0;
	if (object.gnu_hash != 0)
		return find_by_gnu_hash(&object, name);
	return object.hash != 0 ? find_by_table(&object, name) : 0;
}

/* Whether `count` things of `size` bytes from `offset` on lie within the file. */
static bool within(uint64_t file_size, uint64_t offset, uint64_t count, uint64_t size)
{
	return offset <= file_size && count <= (file_size - offset) / size;
}

/* Value of the symbol in a file's SHT_SYMTAB; 0: not there. */
static uint64_t find_in_image(const char *image, uint64_t size, const char *name)
{
	const Header *header = (const Header *)(const void *)image;
	size_t length = strlen(name) + 1;

	if (size < sizeof(*header) || !is_elf(header) || header->e_shentsize != sizeof(ElfW(Shdr)) ||
	    !within(size, header->e_shoff, header->e_shnum, sizeof(ElfW(Shdr))) || header->e_shoff % 8 != 0)
		return 0;
	const ElfW(Shdr) *section = (const ElfW(Shdr) *)(const void *)(image + header->e_shoff);
	for (unsigned i = 0; i < header->e_shnum; i++) {
		if (section[i].sh_type != SHT_SYMTAB || section[i].sh_link >= header->e_shnum ||
		    !within(size, section[i].sh_offset, section[i].sh_size, 1) || section[i].sh_offset % 8 != 0)
			continue;
		const ElfW(Shdr) *strings = &section[section[i].sh_link];
		if (!within(size, strings->sh_offset, strings->sh_size, 1))
			continue;
		const Symbol *symbol = (const Symbol *)(const void *)(image + section[i].sh_offset);
		for (uint64_t n = section[i].sh_size / sizeof(*symbol); n != 0; n--, symbol++)
			if (symbol->st_shndx != SHN_UNDEF && within(strings->sh_size, symbol->st_name, length, 1) &&
			    memcmp(image + strings->sh_offset + symbol->st_name, name, length) == 0)
				return symbol->st_value;
	}
	return 0;
}

uint64_t elf_find_symbol_in_file(const struct target *target, uint64_t base, const char *path, const char *name)
{
	struct object object = { .target = target };
	uint64_t value = 0;
	struct stat info;
	int file = open(path, O_RDONLY | O_CLOEXEC);

	if (file < 0)
		return 0;
	if (fstat(file, &info) == 0 && info.st_size > 0) {
		void *image = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
		if (image != MAP_FAILED) {
			value = find_in_image(image, (uint64_t)info.st_size, name);
			munmap(image, (size_t)info.st_size);
		}
	}
	close(file);
	return value != 0 && read_segments(&object, base) ? value + object.bias : 0;
}
