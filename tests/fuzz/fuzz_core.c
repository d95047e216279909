/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The reader of core files on damaged ones: a file with notes and two segments, which hold the image of process_image.h. The
 * input damages the image, then any bytes of the file, then cuts the file.
 *
 * Linked with tools/drystone.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <unistd.h>

#include "process_image.h"

#define HALF (IMAGE / 2)

/* What precedes the memory. */
struct head {
	ElfW(Ehdr) header;
	ElfW(Phdr) segment[3];
	struct __attribute__((packed)) {
		ElfW(Nhdr) note;
		char name[8];
		struct elf_prpsinfo info;
	} program;
	struct __attribute__((packed)) {
		ElfW(Nhdr) note;
		char name[8];
		uint64_t count, page, start, end, offset;
		char path[16];
	} files;
};
static struct {
	struct head head;
	unsigned char memory[IMAGE];
} core;

static void make_notes(struct head *h)
{
	h->program.note = (ElfW(Nhdr)){ 5, sizeof(h->program.info), NT_PRPSINFO };
	strcpy(h->program.name, "CORE");
	strcpy(h->program.info.pr_fname, "program");
	h->files.note = (ElfW(Nhdr)){ 5, sizeof(h->files) - offsetof(__typeof__(h->files), count), NT_FILE };
	strcpy(h->files.name, "CORE");
	h->files.count = 1;
	h->files.page = 4096;
	h->files.start = BASE;
	h->files.end = BASE + IMAGE;
	strcpy(h->files.path, "/program");
}

static void make_core(void)
{
	struct head *h = &core.head;

	memset(h, 0, sizeof(*h));
	memcpy(h->header.e_ident, ELFMAG, SELFMAG);
	h->header.e_ident[EI_CLASS] = ELFCLASS64;
	h->header.e_type = ET_CORE;
	h->header.e_phoff = offsetof(struct head, segment);
	h->header.e_phentsize = sizeof(h->segment[0]);
	h->header.e_phnum = 3;
	h->segment[0] = (ElfW(Phdr)){ .p_type = PT_NOTE, .p_offset = offsetof(struct head, program),
				      .p_filesz = sizeof(*h) - offsetof(struct head, program) };
	for (unsigned i = 0; i < 2; i++) /* the second first: they need not be in order */
		h->segment[1 + i] = (ElfW(Phdr)){ .p_type = PT_LOAD, .p_offset = sizeof(*h) + (1 - i) * HALF,
						  .p_vaddr = BASE + (1 - i) * HALF, .p_filesz = HALF, .p_memsz = HALF };
	make_notes(h);
	memcpy(core.memory, process_memory.bytes, IMAGE);
}

static void damage_core(struct input *in)
{
	for (unsigned n = 0; n < 64; n++) {
		size_t at = input_16(in), bytes = input_8(in) % 17;

		if (bytes == 0)
			return;
		if (at >= 32768) /* half of them where it matters most */
			at %= sizeof(struct head);
		while (bytes-- && at < sizeof(core))
			((unsigned char *)&core)[at++] = (unsigned char)input_8(in);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[64];
	static int file = -1;
	struct input in = { data, data + size };
	struct target target;
	size_t rows = 0;

	if (file < 0) {
		file = memfd_create("core", MFD_CLOEXEC);
		EXPECT(file >= 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	}
	process_image_make();
	process_image_damage(&in);
	make_core();
	damage_core(&in);
	EXPECT(pwrite(file, &core, sizeof(core), 0) > 0);
	EXPECT(ftruncate(file, sizeof(core)) == 0);
	if (input_more(&in))
		EXPECT(ftruncate(file, (off_t)(input_16(&in) % sizeof(core))) == 0);
	if (target_open_core(&target, path) == NULL)
		rows = process_image_look(&target);
	target_close(&target);
	EXPECT(size > 0 || rows == WHOLE_ROWS);
	return 0;
}
