/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Built without elfutils: nothing is known. */
#include "symbols.h"

struct symbols *symbols_open(const struct target_map *maps, size_t count, const char *root)
{
	(void)root;
	(void)maps;
	(void)count;
	return NULL;
}

struct symbols *symbols_open_file(const char *path, uint64_t *base)
{
	(void)path;
	(void)base;
	return NULL;
}

bool symbols_is_build(const struct symbols *symbols, const char *id)
{
	(void)symbols;
	(void)id;
	return false;
}

void symbols_close(struct symbols *symbols)
{
	(void)symbols;
}

void symbols_find(struct symbols *symbols, uint64_t address,
		  void (*tell)(void *arg, const char *name, const char *file, int line), void *arg)
{
	(void)symbols;
	(void)address;
	(void)tell;
	(void)arg;
}
