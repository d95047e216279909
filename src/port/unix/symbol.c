/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Names of code addresses, for reports: what the dynamic linker knows, else the symbol table of the module's file, where
 * static functions and those of most programs are. The table is read in pieces into static memory, by one at a time:
 * who comes meanwhile (another thread, or a handler of a signal) gets what the dynamic linker knows. What was found last, or that
 * there is nothing, is kept by address and the module's build ID: stacks of one program end alike. Nothing is allocated. errno is
 * kept.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/fmt.h"
#include "port/stack.h"
#include "port/unix/file.h"
#include "port/unix/threads.h"

#define NAME_ROOM 256
#define PATH_ROOM 512
#define PLACE_ROOM 128
#define PIECE     64u /* symbols read at once */
#define BUILD     8u  /* bytes of a build ID: no two builds share them by chance */
#define KEPT      64u /* names */

#if UINTPTR_MAX > UINT32_MAX
typedef Elf64_Ehdr elf_header;
typedef Elf64_Shdr elf_section;
typedef Elf64_Sym elf_symbol;
#define CLASS         ELFCLASS64
#define TYPE_OF(info) ELF64_ST_TYPE(info)
#else
typedef Elf32_Ehdr elf_header;
typedef Elf32_Shdr elf_section;
typedef Elf32_Sym elf_symbol;
#define CLASS         ELFCLASS32
#define TYPE_OF(info) ELF32_ST_TYPE(info)
#endif

extern int program_main(int count, char **arguments) __asm__("main") DRY_WEAK;

struct name {
	char text[NAME_ROOM];
	uintptr_t offset; /* of the address from the function's start */
};

struct kept {
	uintptr_t address; /* 0: none */
	const void *base;  /* of its module */
	uintptr_t offset;
	unsigned char build[BUILD]; /* another module may have come to the address */
	char text[64];              /* empty: there is no name */
};

/* Of whoever has it: too much for a small stack. */
static struct {
	elf_symbol piece[PIECE];
	struct name name;
	char path[PATH_ROOM];
	struct kept kept[KEPT];
} room;
static atomic_flag room_busy = ATOMIC_FLAG_INIT;

static bool read_at(int fd, void *to, size_t bytes, uint64_t from)
{
	return dry_file_read_at(fd, to, bytes, from) == (ptrdiff_t)bytes;
}

/* The function in a symbol table that `at` lies in. */
static bool find_symbol(int fd, const elf_section *table, uintptr_t at, elf_symbol *found)
{
	elf_symbol *piece = room.piece;
	uint64_t count = table->sh_size / sizeof(piece[0]);

	for (uint64_t first = 0; first < count; first += PIECE) {
		uint64_t n = count - first < PIECE ? count - first : PIECE;
		if (!read_at(fd, piece, n * sizeof(piece[0]), table->sh_offset + first * sizeof(piece[0])))
			return false;
		for (uint64_t i = 0; i < n; i++) {
			if (TYPE_OF(piece[i].st_info) != STT_FUNC || at - piece[i].st_value >= piece[i].st_size)
				continue;
			*found = piece[i];
			return true;
		}
	}
	return false;
}

static bool read_name(int fd, const elf_header *header, const elf_section *table, const elf_symbol *symbol,
		      struct name *name)
{
	elf_section strings;
	ptrdiff_t got;

	if (table->sh_link >= header->e_shnum ||
	    !read_at(fd, &strings, sizeof(strings), header->e_shoff + (uint64_t)table->sh_link * sizeof(strings)))
		return false;
	got = dry_file_read_at(fd, name->text, NAME_ROOM - 1, strings.sh_offset + symbol->st_name);
	name->text[got > 0 ? got : 0] = '\0';
	return name->text[0] != '\0';
}

static bool search(int fd, uintptr_t address, uintptr_t base, struct name *name)
{
	elf_header header;
	elf_section section;
	elf_symbol symbol;

	if (!read_at(fd, &header, sizeof(header), 0) || header.e_ident[EI_MAG0] != ELFMAG0 ||
	    header.e_ident[EI_CLASS] != CLASS || header.e_shentsize != sizeof(section))
		return false;
	uintptr_t at = header.e_type == ET_EXEC ? address : address - base;
	for (unsigned i = 0; i < header.e_shnum; i++) {
		if (!read_at(fd, &section, sizeof(section), header.e_shoff + (uint64_t)i * sizeof(section)))
			return false;
		if (section.sh_type != SHT_SYMTAB || !find_symbol(fd, &section, at, &symbol))
			continue;
		name->offset = at - symbol.st_value;
		return read_name(fd, &header, &section, &symbol, name);
	}
	return false;
}

/* The program's own path may be a relative one that no longer leads anywhere. */
static const char *file_of(const Dl_info *module)
{
	Dl_info program = { 0 };

	if (program_main != NULL && dladdr((void *)(uintptr_t)program_main, &program) != 0 &&
	    program.dli_fbase == module->dli_fbase)
		return "/proc/self/exe";
	return module->dli_fname;
}

/* *read: the file was there to be read. */
static bool look_up(uintptr_t address, const Dl_info *module, struct name *name, bool *read)
{
	bool found = false;
	int cancel, fd;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	fd = dry_file_open(file_of(module));
	*read = fd >= 0;
	if (fd >= 0) {
		found = search(fd, address, (uintptr_t)module->dli_fbase, name);
		dry_file_close(fd);
	}
	pthread_setcancelstate(cancel, NULL);
	return found;
}

/* The same for who has the room, in room.name. */
static bool look_up_kept(uintptr_t address, const Dl_info *module, const unsigned char *build)
{
	struct kept *kept = &room.kept[(address ^ address >> 12) % KEPT];
	size_t length;

	if (build != NULL && kept->address == address && kept->base == module->dli_fbase &&
	    memcmp(kept->build, build, BUILD) == 0) {
		memcpy(room.name.text, kept->text, sizeof(kept->text));
		room.name.offset = kept->offset;
		return kept->text[0] != '\0';
	}
	bool read, found = look_up(address, module, &room.name, &read);
	length = found ? strlen(room.name.text) : 0;
	if (build == NULL || !read || length >= sizeof(kept->text))
		return found;
	kept->address = 0; /* until all is there: the child of a fork may have it as it is */
	atomic_signal_fence(memory_order_seq_cst);
	kept->base = module->dli_fbase;
	kept->offset = room.name.offset;
	memcpy(kept->build, build, BUILD);
	memcpy(kept->text, room.name.text, length);
	kept->text[length] = '\0';
	atomic_signal_fence(memory_order_seq_cst);
	kept->address = address;
	return found;
}

/* The first module is the program, the only one where it is linked statically, and then without a dynamic linker to ask. */
static int look(struct dl_phdr_info *module, size_t size, void *arg)
{
	Dl_info *info = arg;
	uintptr_t address = (uintptr_t)info->dli_saddr, first = UINTPTR_MAX;
	bool inside = false;

	(void)size;
	for (unsigned i = 0; i < module->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &module->dlpi_phdr[i];
		uintptr_t from = module->dlpi_addr + part->p_vaddr;
		if (part->p_type == PT_LOAD && from < first)
			first = from;
		inside |= part->p_type == PT_LOAD && address - from < part->p_memsz;
	}
	info->dli_fbase = inside ? (void *)first : NULL;
	return 1;
}

/* path NULL: only where the dynamic linker knows it. */
static bool find_module(uintptr_t address, Dl_info *info, char *path, size_t size)
{
	ssize_t n;

	if (dladdr((void *)address, info) != 0 && info->dli_fname != NULL)
		return true;
	*info = (Dl_info){ .dli_saddr = (void *)address };
	dl_iterate_phdr(look, info);
	info->dli_saddr = NULL;
	if (info->dli_fbase == NULL || path == NULL ||
	    (n = readlink("/proc/self/exe", path, size - 1)) <= 0)
		return false;
	path[n] = '\0';
	info->dli_fname = path;
	return true;
}

/* Among the notes from `at` to `end`; NULL: none. */
static const unsigned char *build_in(const char *at, const char *end, size_t align)
{
	static const char owner[] = "GNU";
	ElfW(Nhdr) note;

	while ((size_t)(end - at) > sizeof(note)) {
		memcpy(&note, at, sizeof(note));
		const char *name = at + sizeof(note);
		size_t names = (note.n_namesz + align - 1) & ~(align - 1), bytes = (note.n_descsz + align - 1) & ~(align - 1);
		if (names > (size_t)(end - name) || bytes > (size_t)(end - name) - names)
			return NULL;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(owner) && note.n_descsz >= BUILD &&
		    memcmp(name, owner, sizeof(owner)) == 0)
			return (const unsigned char *)name + names;
		at = name + names + bytes;
	}
	return NULL;
}

/* By the module's headers, which are mapped where it begins. */
static const unsigned char *build_of(const Dl_info *module)
{
	const ElfW(Ehdr) *header = module->dli_fbase;
	const ElfW(Phdr) *part = (const void *)((const char *)header + header->e_phoff), *end = part + header->e_phnum;
	const unsigned char *build = NULL;
	uintptr_t first = UINTPTR_MAX;

	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
		return NULL;
	for (const ElfW(Phdr) *at = part; at < end; at++)
		if (at->p_type == PT_LOAD && at->p_vaddr - at->p_offset < first)
			first = at->p_vaddr - at->p_offset;
	for (; part < end && build == NULL; part++) {
		const char *notes = (const char *)header + (part->p_vaddr - first);
		if (part->p_type == PT_NOTE)
			build = build_in(notes, notes + part->p_memsz, part->p_align == 8 ? 8 : 4);
	}
	return build;
}

/* "(module+0x2345 93ac61ec5a8eb139)" */
static size_t describe_place(uintptr_t address, const Dl_info *info, const unsigned char *build, char *text, size_t size)
{
	const char *module = info->dli_fname;
	size_t n;

	for (const char *c = module; *c != '\0'; c++)
		if (*c == '/')
			module = c + 1;
	n = dry_format(text, size, "(%s+0x%lx", module, (unsigned long)(address - (uintptr_t)info->dli_fbase));
	for (unsigned i = 0; build != NULL && i < BUILD; i++)
		n += dry_format(text + n, size - n, "%s%02x", i == 0 ? " " : "", build[i]);
	return n + dry_format(text + n, size - n, ")");
}

static size_t describe(uintptr_t address, bool alone, char *text, size_t size)
{
	uintptr_t call = address - 1; /* the call is before its return address, and may be the last thing in its function */
	Dl_info info = { 0 };
	char place[PLACE_ROOM];
	size_t n = 0, left;

	if (!find_module(call, &info, alone ? room.path : NULL, sizeof(room.path)))
		return dry_format(text, size, "%p", (void *)address);
	/* A name of C++ may be longer than the line, and the place is what can be looked up later. */
	const unsigned char *build = build_of(&info);
	left = describe_place(address, &info, build, place, sizeof(place));
	left = size > left + 1 ? size - left : 1;
	if (info.dli_sname != NULL)
		n = dry_format(text, left, "%s+0x%lx ", info.dli_sname, (unsigned long)(address - (uintptr_t)info.dli_saddr));
	else if (alone && look_up_kept(call, &info, build))
		n = dry_format(text, left, "%s+0x%lx ", room.name.text, (unsigned long)(room.name.offset + 1));
	if (n != 0)
		text[n - 1] = ' ';
	return n + dry_format(text + n, size - n, "%s", place);
}

void dry_unix_symbol_forked(void)
{
	atomic_flag_clear_explicit(&room_busy, memory_order_relaxed);
}

size_t dry_port_symbol(uintptr_t address, char *text, size_t size)
{
	bool alone = !atomic_flag_test_and_set_explicit(&room_busy, memory_order_acquire);
	int saved = errno;
	size_t n = describe(address, alone, text, size);

	if (alone)
		atomic_flag_clear_explicit(&room_busy, memory_order_release);
	errno = saved;
	return n;
}
