/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "sequences.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/check.h"
#include "machine.h"

struct descriptor {
	uint32_t version, flags;
	uint64_t start, length, abort;
};

struct sequence sequences[MOST_SEQUENCES];
unsigned sequence_count;

static bool in_code(const struct dl_phdr_info *info, uintptr_t at)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) && at - start < segment->p_memsz)
			return true;
	}
	return false;
}

/* What a jump at the abort address, or soon behind it, leads to, if that lies just before the first instruction; else that. */
static uintptr_t begin_of(const struct sequence *s)
{
	enum { SOON = 48 };

	for (uintptr_t at = s->abort; at - s->abort < SOON; at += JUMP_ALIGN) {
		uintptr_t target = jump_target(at);
		if (s->start - target <= 64)
			return target;
	}
	return s->start;
}

/* Reads across variables, red zones between them included. */
static __attribute__((no_sanitize("address"))) void judge(const struct dl_phdr_info *info, const struct descriptor *d)
{
	uint32_t signature;

	if (d->version || d->flags || !d->length || d->length > MOST_BYTES || !in_code(info, d->start) ||
	    !in_code(info, d->abort - sizeof(signature)))
		return;
	memcpy(&signature, (const char *)(uintptr_t)d->abort - sizeof(signature), sizeof(signature));
	if (signature != SIGNATURE)
		return;
	CHECK(sequence_count < MOST_SEQUENCES);
	sequences[sequence_count] = (struct sequence){ .start = d->start, .post = d->start + d->length, .abort = d->abort };
	sequences[sequence_count].begin = begin_of(&sequences[sequence_count]);
	sequence_count++;
}

/* The first object is the program. */
static int scan(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t at = (info->dlpi_addr + segment->p_vaddr + 31) & ~(uintptr_t)31;
		uintptr_t end = info->dlpi_addr + segment->p_vaddr + segment->p_memsz;

		if (segment->p_type != PT_GNU_RELRO)
			continue;
		for (; at + sizeof(struct descriptor) <= end; at += 32)
			judge(info, (const struct descriptor *)at);
	}
	return 1;
}

void find_sequences(void)
{
	sequence_count = 0;
	dl_iterate_phdr(scan, NULL);
}

struct sequence *sequence_at(uintptr_t ip)
{
	for (unsigned i = 0; i < sequence_count; i++)
		if (ip - sequences[i].start < sequences[i].post - sequences[i].start)
			return &sequences[i];
	return NULL;
}

struct sequence *sequence_from(uintptr_t ip)
{
	for (unsigned i = 0; i < sequence_count; i++)
		if (ip == sequences[i].begin)
			return &sequences[i];
	return NULL;
}

extern const char __ehdr_start[] __attribute__((visibility("hidden")));

uintptr_t image_base(void)
{
	return (uintptr_t)__ehdr_start;
}

/* By the symbol table of the file. */
const char *place_name(uintptr_t ip)
{
	static char text[160];
	static const char *image;
	const ElfW(Ehdr) *header;
	uintptr_t value = ip - image_base(), best = 0;
	struct stat info;

	if (!image) {
		int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

		CHECK(file >= 0 && fstat(file, &info) == 0);
		image = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
		CHECK(image != MAP_FAILED);
		close(file);
	}
	header = (const void *)image;
	if (header->e_type == ET_EXEC)
		value = ip;
	snprintf(text, sizeof(text), "%#lx", (unsigned long)value);
	const ElfW(Shdr) *section = (const void *)(image + header->e_shoff);
	for (unsigned i = 0; i < header->e_shnum; i++) {
		if (section[i].sh_type != SHT_SYMTAB)
			continue;
		const ElfW(Sym) *symbol = (const void *)(image + section[i].sh_offset);
		for (size_t n = section[i].sh_size / sizeof(*symbol); n--; symbol++)
			if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_value > best &&
			    value - symbol->st_value < symbol->st_size) {
				best = symbol->st_value;
				snprintf(text, sizeof(text), "%s+%#lx",
					 image + section[section[i].sh_link].sh_offset + symbol->st_name,
					 (unsigned long)(value - best));
			}
	}
	return text;
}
