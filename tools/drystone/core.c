/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A core file as a target: its segments are the memory, its notes name the mapped files and the program.
 * Formats: System V ABI, chapters 4 and 5; core(5); the notes as Linux and gdb write them.
 */
#define _GNU_SOURCE
#include "target.h"
#include "cli.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SEGMENTS (1u << 20)
#define MAX_NOTES    ((size_t)64 << 20)

typedef ElfW(Ehdr) Header;
typedef ElfW(Phdr) Segment;
typedef ElfW(Nhdr) Note;

struct core {
	int file;
	uint64_t size;
	Segment *segments; /* those with memory in the file; by address */
	size_t count;
	bool cut;
};

static bool read_at(const struct core *core, uint64_t offset, void *buffer, size_t size)
{
	return offset <= core->size && size <= core->size - offset &&
	       pread(core->file, buffer, size, (off_t)offset) == (ssize_t)size;
}

/* The segment that holds the address, or NULL. */
static const Segment *segment_of(const struct core *core, uint64_t address)
{
	size_t low = 0, high = core->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const Segment *s = &core->segments[middle];

		if (address < s->p_vaddr)
			high = middle;
		else if (address - s->p_vaddr >= s->p_filesz)
			low = middle + 1;
		else
			return s;
	}
	return NULL;
}

bool core_read(const struct core *core, uint64_t address, void *buffer, size_t size)
{
	char *to = buffer;

	while (size != 0) {
		const Segment *s = segment_of(core, address);
		if (s == NULL)
			return false;
		uint64_t at = address - s->p_vaddr;
		size_t n = s->p_filesz - at < size ? (size_t)(s->p_filesz - at) : size;
		if (!read_at(core, s->p_offset + at, to, n))
			return false;
		to += n;
		address += n;
		size -= n;
	}
	return true;
}

uint64_t core_end_of(const struct core *core, uint64_t start, uint64_t end)
{
	const Segment *s;

	for (uint64_t at = start; at < end; at = s->p_vaddr + s->p_filesz) {
		s = segment_of(core, at);
		if (s == NULL)
			return at;
	}
	return end;
}

bool core_is_cut(const struct core *core)
{
	return core->cut;
}

void core_close(struct core *core)
{
	if (core->file >= 0)
		close(core->file);
	free(core->segments);
	free(core);
}

static int by_address(const void *a, const void *b)
{
	const Segment *x = a, *y = b;

	return x->p_vaddr < y->p_vaddr ? -1 : x->p_vaddr > y->p_vaddr;
}

/* NT_FILE: count and page size; start, end and page offset of each mapping; then their names. */
static void add_files(struct target *target, const char *text, size_t size)
{
	uint64_t head[2], entry[3];
	size_t names;

	if (size < sizeof(head))
		return;
	memcpy(head, text, sizeof(head));
	if (head[0] > (size - sizeof(head)) / sizeof(entry))
		return;
	names = sizeof(head) + (size_t)head[0] * sizeof(entry);
	for (uint64_t i = 0; i < head[0]; i++) {
		size_t length = strnlen(text + names, size - names);

		if (length == size - names)
			return;
		memcpy(entry, text + sizeof(head) + i * sizeof(entry), sizeof(entry));
		if (entry[0] < entry[1]) {
			struct target_map *map = target_add_map(target);
			*map = (struct target_map){ .start = entry[0], .end = entry[1], .offset = entry[2] * head[1],
						    .readable = segment_of(target->core, entry[0]) != NULL,
						    .inode = 1, .path = strdup(text + names) };
			if (map->path == NULL)
				target->map_count--;
		}
		names += length + 1;
	}
}

static void add_note(struct target *target, const Note *note, const char *name, const char *text)
{
	struct elf_prpsinfo info;

	if (note->n_namesz < 4 || memcmp(name, "CORE", 4) != 0)
		return;
	if (note->n_type == NT_PRPSINFO && note->n_descsz >= sizeof(info)) {
		memcpy(&info, text, sizeof(info));
		target->pid = info.pr_pid;
		target_name(target, info.pr_fname, sizeof(info.pr_fname));
	} else if (note->n_type == NT_FILE) {
		add_files(target, text, note->n_descsz);
	}
}

static void read_notes(struct target *target, const Segment *segment)
{
	size_t size = segment->p_filesz < MAX_NOTES ? (size_t)segment->p_filesz : MAX_NOTES, at = 0;
	char *notes;
	Note note;

	if (segment->p_offset > target->core->size || size > target->core->size - segment->p_offset)
		return;
	notes = cli_realloc(NULL, 1, size + 1);
	if (!read_at(target->core, segment->p_offset, notes, size))
		size = 0;
	while (size - at >= sizeof(note)) {
		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);
		size_t name = ((size_t)note.n_namesz + 3) & ~(size_t)3, text = ((size_t)note.n_descsz + 3) & ~(size_t)3;
		if (name > size - at || text > size - at - name)
			break;
		add_note(target, &note, notes + at, notes + at + name);
		at += name + text;
	}
	free(notes);
}

/* Segments of a core file; more than 65534 have their number in the first section header. */
static uint64_t count_segments(const struct core *core, const Header *header)
{
	ElfW(Shdr) first;

	if (header->e_phnum != PN_XNUM)
		return header->e_phnum;
	return read_at(core, header->e_shoff, &first, sizeof(first)) ? first.sh_info : 0;
}

static const char *read_segments(struct target *target)
{
	struct core *core = target->core;
	Header header;
	uint64_t count;
	size_t kept = 0;

	if (!read_at(core, 0, &header, sizeof(header)) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return "it is no ELF file; a compressed core file has to be unpacked first";
	if (header.e_type != ET_CORE)
		return "it is no core file";
	if (header.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
	    header.e_phentsize != sizeof(Segment))
		return "it is of another kind of processor";
	count = count_segments(core, &header);
	if (count == 0 || count > MAX_SEGMENTS)
		return "its segments make no sense";
	if (count > core->size / sizeof(Segment))
		return "it is cut short";
	core->segments = cli_realloc(NULL, count, sizeof(Segment));
	if (!read_at(core, header.e_phoff, core->segments, count * sizeof(Segment)))
		return "it is cut short";
	Segment *notes = cli_realloc(NULL, count, sizeof(Segment));
	size_t note_count = 0;
	for (uint64_t i = 0; i < count; i++) {
		Segment s = core->segments[i];
		if (s.p_offset > core->size || s.p_filesz > core->size - s.p_offset)
			core->cut = true;
		if (s.p_type == PT_NOTE)
			notes[note_count++] = s;
		else if (s.p_type == PT_LOAD && s.p_filesz != 0 && s.p_vaddr + s.p_filesz > s.p_vaddr)
			core->segments[kept++] = s;
	}
	core->count = kept;
	qsort(core->segments, kept, sizeof(Segment), by_address);
	for (size_t i = 0; i < note_count; i++)
		read_notes(target, &notes[i]);
	free(notes);
	return NULL;
}

const char *target_open_core(struct target *target, const char *path)
{
	struct stat info;

	*target = (struct target){ .mem = -1 };
	target->core = cli_realloc(NULL, 1, sizeof(*target->core));
	*target->core = (struct core){ .file = open(path, O_RDONLY | O_CLOEXEC) };
	if (target->core->file < 0)
		return strerror(errno);
	if (fstat(target->core->file, &info) != 0 || !S_ISREG(info.st_mode))
		return "it is no file";
	target->core->size = (uint64_t)info.st_size;
	return read_segments(target);
}
