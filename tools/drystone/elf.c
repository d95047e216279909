/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Symbols of an ELF object of another process: by its dynamic symbols as they lie in
 * memory, which works for files that were deleted or replaced, else by the symbol table of
 * the file. Formats: System V ABI, chapters 4 and 5; the GNU hash table as in its linker.
 */
#define _GNU_SOURCE
#include "target.h"
#include "elf_file.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#define MAX_SEGMENTS 64
#define MAX_DYNAMIC  256
#define MAX_SYMBOLS  (1u << 20)
#define MAX_NAME     64
#define MAX_RELOCATIONS (1u << 20)

typedef ElfW(Ehdr) Header;
typedef ElfW(Phdr) Segment;
typedef ElfW(Dyn) Dynamic;
typedef ElfW(Sym) Symbol;

struct object {
	const struct target *target;
	uint64_t bias; /* added to an address in the file */
	uint64_t dynamic, dynamic_size;
	uint64_t symbols, strings, gnu_hash, hash; /* addresses; 0: none */
	uint64_t calls, calls_size, data, data_size; /* relocations of functions and of the rest */
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
		case DT_JMPREL:
			object->calls = address;
			break;
		case DT_PLTRELSZ:
			object->calls_size = entries[i].d_un.d_val;
			break;
		case DT_RELA:
			object->data = address;
			break;
		case DT_RELASZ:
			object->data_size = entries[i].d_un.d_val;
			break;
		}
	}
	return object->symbols != 0 && object->strings != 0;
}

/* Read symbol `index`; whether it has this name. */
static bool is_name(const struct object *object, uint64_t index, const char *name, Symbol *symbol)
{
	char text[MAX_NAME];
	size_t size = strlen(name) + 1;

	return size <= sizeof(text) && index < MAX_SYMBOLS &&
	       target_read(object->target, object->symbols + index * sizeof(*symbol), symbol, sizeof(*symbol)) &&
	       target_read(object->target, object->strings + symbol->st_name, text, size) && memcmp(text, name, size) == 0;
}

/* Address of symbol `index` if it is a defined one of this name; else 0. */
static uint64_t match(const struct object *object, uint32_t index, const char *name)
{
	Symbol symbol;

	if (!is_name(object, index, name, &symbol) || symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0)
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

struct wanted {
	const char *name;
	uint64_t value;
};

static bool match_in_file(void *arg, const char *name, uint64_t value, bool exported)
{
	struct wanted *wanted = arg;

	(void)exported;
	if (value != 0 && strcmp(name, wanted->name) == 0)
		wanted->value = value;
	return wanted->value == 0;
}

uint64_t elf_find_symbol_in_file(const struct target *target, uint64_t base, const char *path, const char *name)
{
	struct object object = { .target = target };
	struct wanted wanted = { name, 0 };
	struct elf_file file;

	if (elf_file_open(&file, path) != ELF_FILE_OK)
		return 0;
	elf_file_symbols(&file, match_in_file, &wanted);
	elf_file_close(&file);
	return wanted.value != 0 && read_segments(&object, base) ? wanted.value + object.bias : 0;
}

/* ---- what another object calls --------------------------------------------------------------------- */

/* Through a table of relocations; those of one symbol stand in no order. */
static uint64_t find_slot(const struct object *object, uint64_t table, uint64_t bytes, const char *name)
{
	enum { PIECE = 256 };
	ElfW(Rela) piece[PIECE];
	Symbol symbol;
	uint64_t slot;

	if (bytes > MAX_RELOCATIONS * sizeof(*piece))
		return 0;
	for (uint64_t left = bytes / sizeof(*piece); left != 0;) {
		uint64_t n = left < PIECE ? left : PIECE;

		if (!target_read(object->target, table, piece, n * sizeof(*piece)))
			return 0;
		for (uint64_t i = 0; i < n; i++)
			if (ELF64_R_SYM(piece[i].r_info) != 0 && is_name(object, ELF64_R_SYM(piece[i].r_info), name, &symbol) &&
			    target_read(object->target, piece[i].r_offset + object->bias, &slot, sizeof(slot)))
				return slot;
		left -= n;
		table += n * sizeof(*piece);
	}
	return 0;
}

uint64_t elf_find_bound(const struct target *target, uint64_t base, const char *name)
{
	struct object object = { .target = target };
	uint64_t address;

	if (!read_segments(&object, base) || !read_dynamic(&object))
		return 0;
	address = find_slot(&object, object.calls, object.calls_size, name);
	return address != 0 ? address : find_slot(&object, object.data, object.data_size, name);
}
