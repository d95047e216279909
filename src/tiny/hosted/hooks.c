/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "base/bits.h"
#include "base/fatal.h"
#include "tiny/tiny.h"

struct dry_lock dry_tiny_the_lock = DRY_LOCK_INIT(DRY_RANK_PORT);

/* A page before the memory says how much it is. */
void *dry_tiny_map(size_t *size)
{
	const size_t page = dry_port_page_size();
	bool fixed = *size != 0;
	size_t bytes = dry_round_up(fixed ? *size : dry_tiny_space, page) + page;
	size_t *memory;

	for (;; bytes = dry_round_up(bytes / 2, page)) {
		memory = dry_port_reserve(bytes, page, true);
		if (memory != NULL && dry_port_commit(memory, bytes) == 0)
			break;
		if (memory != NULL)
			dry_port_release(memory, bytes);
		if (fixed || bytes < (size_t)1 << 20)
			return NULL;
	}
	*memory = bytes;
	*size = fixed ? *size : bytes - page;
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

void dry_tiny_bad_pointer(const struct dry_owner *owner, const void *pointer)
{
	dry_tiny_say_pointer(owner, pointer);
}

void dry_tiny_bad_link(const struct dry_class *class, const void *where)
{
	dry_tiny_say_link(class, where);
}
