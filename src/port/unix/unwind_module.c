/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dl_iterate_phdr, _dl_find_object */
#endif
#include "port/unix/unwind_module.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/compiler.h"

#define LASTING 4 /* of two threads that find the same one at once, both write it down */

struct search {
	uintptr_t pc;
	struct dry_unix_module *module;
};

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct search *search = arg;
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
	if (inside)
		search->module->table = table;
	return inside;
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
#pragma weak _dl_find_object

static struct {
	_Atomic uintptr_t from, to; /* to 0: not written yet */
	const uint8_t *_Atomic table;
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
		*module = (struct dry_unix_module){ from, to, atomic_load_explicit(&lasting[i].table, memory_order_relaxed) };
		return true;
	}
	return false;
}

static bool lies_in(const struct dl_find_object *object, const void *address)
{
	return address >= object->dlfo_map_start && address < object->dlfo_map_end;
}

/* The program alone has an empty name. */
static bool lasts(const struct dl_find_object *object)
{
	return object->dlfo_link_map->l_name[0] == '\0' || lies_in(object, lasting) ||
	       lies_in(object, (const void *)(uintptr_t)dl_iterate_phdr);
}

static DRY_NOINLINE bool ask(uintptr_t pc, struct dry_unix_module *module)
{
	struct dl_find_object object;

	if (_dl_find_object((void *)pc, &object) != 0)
		return false;
	*module = (struct dry_unix_module){ (uintptr_t)object.dlfo_map_start, (uintptr_t)object.dlfo_map_end,
					    object.dlfo_eh_frame };
	if (module->table != NULL && lasts(&object))
		remember(module);
	return module->table != NULL;
}
#endif

bool dry_unix_module_find(uintptr_t pc, struct dry_unix_module *module)
{
	struct search search = { pc, module };

#ifdef DLFO_STRUCT_HAS_EH_DBASE
	if (_dl_find_object != NULL)
		return recall(pc, module) || ask(pc, module);
#endif
	return dl_iterate_phdr(look, &search) != 0 && module->table != NULL;
}
