/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "base/bits.h"
#include "base/fatal.h"
#include "tiny/tiny.h"

/* A heap that was told nothing takes so much address space; memory follows as it is used. */
#define SPACE ((size_t)250 << 20)

struct dry_lock dry_tiny_the_lock = DRY_LOCK_INIT(DRY_RANK_PORT);

void *dry_tiny_map(size_t *size)
{
	size_t bytes = dry_round_up(*size != 0 ? *size : SPACE, dry_port_page_size());
	void *memory = dry_port_reserve(bytes, dry_port_page_size(), true);

	if (memory != NULL && dry_port_commit(memory, bytes) != 0) {
		dry_port_release(memory, bytes);
		return NULL;
	}
	if (*size == 0)
		*size = bytes;
	return memory;
}

void dry_tiny_unmap(void *memory, size_t size)
{
	dry_port_release(memory, dry_round_up(size, dry_port_page_size()));
}

void dry_tiny_wrong(const char *what, const void *where)
{
	dry_warn("check: does not hold: %s: %p", what, where);
}

void dry_tiny_leak(const char *cache, size_t objects)
{
	dry_warn("cache %s: %zu objects still allocated at destroy", cache, objects);
}
