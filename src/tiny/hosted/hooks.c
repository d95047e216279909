/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "base/bits.h"
#include "base/fatal.h"
#include "tiny/tiny.h"

/* A heap that was told nothing takes so much address space; memory follows as it is used. */
#define SPACE ((size_t)250 << 20)

struct dry_lock dry_tiny_the_lock = DRY_LOCK_INIT(DRY_RANK_PORT);

/* A page before the memory says how much it is. */
void *dry_tiny_map(size_t *size)
{
	const size_t page = dry_port_page_size();
	size_t bytes = dry_round_up(*size != 0 ? *size : SPACE, page) + page;
	size_t *memory = dry_port_reserve(bytes, page, true);

	if (memory != NULL && dry_port_commit(memory, bytes) != 0) {
		dry_port_release(memory, bytes);
		return NULL;
	}
	if (memory == NULL)
		return NULL;
	if (*size == 0)
		*size = bytes - page;
	*memory = bytes;
	return (char *)memory + page;
}

void dry_tiny_unmap(void *memory)
{
	size_t *start = (size_t *)(void *)((char *)memory - dry_port_page_size());

	dry_port_release(start, *start);
}

void dry_tiny_wrong(const char *what, const void *where)
{
	dry_warn("check: does not hold: %s: %p", what, where);
}

void dry_tiny_leak(const char *cache, size_t objects)
{
	dry_warn("cache %s: %zu objects still allocated at destroy", cache, objects);
}
