/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The figures of all caches of another process, read by the layout that it publishes. */
#ifndef DRYSTONE_WALK_H
#define DRYSTONE_WALK_H

#include "target.h"

#define WALK_NAME 64

/* One cache. Texts are printable and without blanks, whatever lay in the process. */
struct walk_cache {
	char heap[WALK_NAME], name[WALK_NAME];
	char alias_of[WALK_NAME]; /* "": it is none */
	bool default_heap;
	uint64_t object_size, size, num, pages, limit, batchcount, shared_factor;
	uint64_t active_objs, num_objs, active_slabs, num_slabs, shared_avail;
	uint64_t allocs, slow_allocs, slow_frees;
};

struct walk {
	struct walk_cache *caches;
	size_t count, room;
	const char *damage; /* NULL, or why the lists could not be read to their end */
};

/*
 * Read all caches; when a list cannot be followed because the process just changed it, again
 * from the start, a few times. If `damage` is set at the end, what was read is still there.
 */
void walk_process(const struct target *target, const struct dry_inspect *layout, struct walk *walk);
void walk_free(struct walk *walk);

#endif
