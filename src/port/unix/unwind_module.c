/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dl_iterate_phdr, _dl_find_object */
#endif
#include "port/unix/unwind_module.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "port/contract.h"
#include "port/unix/file.h"

#define LASTING 4 /* of two threads that find the same one at once, both write it down */

/* ---- a program without a sorted table ------------------------------------------------------ */

static struct {
	const uint8_t *from, *to; /* NULL: it has none, or may not be read */
} frames;

static bool read_at(int fd, void *to, size_t bytes, uint64_t from)
{
	return dry_file_read_at(fd, to, bytes, from) == (ptrdiff_t)bytes;
}

/* One that is not moved when it is loaded: others have a sorted table. */
static void read_sections(int fd)
{
	static const char wanted[] = ".eh_frame";
	char name[sizeof(wanted)];
	ElfW(Ehdr) header;
	ElfW(Shdr) names, section;

	if (!read_at(fd, &header, sizeof(header), 0) || header.e_type != ET_EXEC || header.e_shentsize != sizeof(section) ||
	    !read_at(fd, &names, sizeof(names), header.e_shoff + (uint64_t)header.e_shstrndx * sizeof(names)))
		return;
	for (unsigned i = 0; i < header.e_shnum; i++) {
		if (!read_at(fd, &section, sizeof(section), header.e_shoff + (uint64_t)i * sizeof(section)))
			return;
		if ((section.sh_flags & SHF_ALLOC) == 0 || !read_at(fd, name, sizeof(name), names.sh_offset + section.sh_name) ||
		    memcmp(name, wanted, sizeof(name)) != 0)
			continue;
		frames.from = (const uint8_t *)(uintptr_t)section.sh_addr;
		frames.to = frames.from + section.sh_size;
	}
}

static DRY_SLOW void read_program(void)
{
	int saved = errno, cancel, fd;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* malloc() must not become a cancellation point */
	fd = dry_file_open("/proc/self/exe");
	if (fd >= 0) {
		read_sections(fd);
		dry_file_close(fd);
	}
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
}

/* Of the program, which has no table. Who asks while another reads does without. */
static bool use_frames(struct dry_unix_module *module)
{
	static atomic_int state; /* 0: nobody has asked; 1: they are read; 2: they are known */
	int none = 0;

	if (atomic_load_explicit(&state, memory_order_acquire) == 0 && !dry_port_confined() &&
	    atomic_compare_exchange_strong_explicit(&state, &none, 1, memory_order_relaxed, memory_order_relaxed)) {
		read_program();
		/* release: pairs with the acquire above and below */
		atomic_store_explicit(&state, 2, memory_order_release);
	}
	if (atomic_load_explicit(&state, memory_order_acquire) != 2 || frames.from == NULL)
		return false;
	module->table = frames.from;
	module->end = frames.to;
	return true;
}

/* ---- modules --------------------------------------------------------------------------------- */

struct search {
	uintptr_t pc;
	struct dry_unix_module *module;
	bool program;
};

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *search = arg;
	const uint8_t *table = NULL;
	bool inside = false;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + part->p_vaddr;
		if (part->p_type == PT_GNU_EH_FRAME)
			table = (const uint8_t *)from;
		if (part->p_type != PT_LOAD || search->pc - from >= part->p_memsz)
			continue;
		search->module->from = from;
		search->module->to = from + part->p_memsz;
		inside = true;
	}
	if (inside) {
		search->module->table = table;
		search->module->end = NULL;
		search->program = info->dlpi_name[0] == '\0';
	}
	return inside;
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
#pragma weak _dl_find_object

static struct {
	_Atomic uintptr_t from, to; /* to 0: not written yet */
	const uint8_t *_Atomic table, *_Atomic end;
} lasting[LASTING];
static atomic_uint taken;

static void remember(const struct dry_unix_module *module)
{
	unsigned i = atomic_load_explicit(&taken, memory_order_relaxed) < LASTING ?
			     atomic_fetch_add_explicit(&taken, 1, memory_order_relaxed) : LASTING;

	if (i >= LASTING)
		return;
	atomic_store_explicit(&lasting[i].from, module->from, memory_order_relaxed);
	atomic_store_explicit(&lasting[i].table, module->table, memory_order_relaxed);
	atomic_store_explicit(&lasting[i].end, module->end, memory_order_relaxed);
	/* release: pairs with the acquire in recall() */
	atomic_store_explicit(&lasting[i].to, module->to, memory_order_release);
}

static bool recall(uintptr_t pc, struct dry_unix_module *module)
{
	for (unsigned i = 0; i < LASTING; i++) {
		uintptr_t to = atomic_load_explicit(&lasting[i].to, memory_order_acquire);
		uintptr_t from = atomic_load_explicit(&lasting[i].from, memory_order_relaxed);
		if (pc >= to || pc < from)
			continue;
		*module = (struct dry_unix_module){ from, to, atomic_load_explicit(&lasting[i].table, memory_order_relaxed),
						    atomic_load_explicit(&lasting[i].end, memory_order_relaxed) };
		return true;
	}
	return false;
}

static bool lies_in(const struct dl_find_object *object, const void *address)
{
	return address >= object->dlfo_map_start && address < object->dlfo_map_end;
}

/* It alone has an empty name. */
static bool is_program(const struct dl_find_object *object)
{
	return object->dlfo_link_map->l_name[0] == '\0';
}

static bool lasts(const struct dl_find_object *object)
{
	return is_program(object) || lies_in(object, lasting) ||
	       lies_in(object, (const void *)(uintptr_t)dl_iterate_phdr);
}

static DRY_NOINLINE bool ask(uintptr_t pc, struct dry_unix_module *module)
{
	struct dl_find_object object;

	if (_dl_find_object((void *)pc, &object) != 0)
		return false;
	*module = (struct dry_unix_module){ (uintptr_t)object.dlfo_map_start, (uintptr_t)object.dlfo_map_end,
					    object.dlfo_eh_frame, NULL };
	if (module->table == NULL && !(is_program(&object) && use_frames(module)))
		return false;
	if (lasts(&object))
		remember(module);
	return true;
}
#endif

bool dry_unix_module_find(uintptr_t pc, struct dry_unix_module *module)
{
	struct search search = { .pc = pc, .module = module };

#ifdef DLFO_STRUCT_HAS_EH_DBASE
	if (_dl_find_object != NULL)
		return recall(pc, module) || ask(pc, module);
#endif
	return dl_iterate_phdr(look, &search) != 0 && (module->table != NULL || (search.program && use_frames(module)));
}
