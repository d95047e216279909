/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Each call of a backing with its exact type: see backing.h. */
#include <drystone/drystone.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/backing.h"

_Static_assert(DRY_SLAB_WORDS >= 3, "chains use three words");
_Static_assert(sizeof(((struct dry_slab *)0)->bits[0]) == 8 &&
		       sizeof(((struct dry_slab *)0)->bits) == DRY_SLAB_WORDS * sizeof(uint64_t),
	       "a bitmap's words");
_Static_assert(sizeof(((struct dry_slab *)0)->grace) >= sizeof(struct dry_grace_head),
	       "a deferred call fits where the free list was");

static __attribute__((unused)) const struct {
	struct dry_slab *(*alloc)(struct dry_backing *, unsigned order, unsigned node, dry_gfp gfp);
	void (*publish)(struct dry_backing *, struct dry_slab *, uint32_t place);
	void (*free)(struct dry_backing *, struct dry_slab *);
	void *(*address)(const struct dry_backing *, const struct dry_slab *);
	unsigned (*node_of)(const struct dry_slab *);
	dry_slab_ref (*ref)(const struct dry_backing *, const struct dry_slab *);
	struct dry_slab *(*deref)(const struct dry_backing *, dry_slab_ref);
	struct dry_slab *(*slab_of)(const struct dry_backing *, const void *, unsigned order);
	bool (*is_slab)(const struct dry_slab *);
	struct dry_slab *(*find)(const struct dry_backing *, const void *);
	bool (*contains)(const struct dry_backing *, const void *);
	bool (*is_of)(const struct dry_backing *, const void *, uint32_t place);
	void *(*meta_alloc)(struct dry_backing *, size_t bytes);
	void (*meta_free)(struct dry_backing *, void *, size_t bytes);
	unsigned (*page_shift)(const struct dry_backing *);
	unsigned (*max_order)(const struct dry_backing *);
	size_t (*bytes)(const struct dry_backing *);
	unsigned (*node)(const struct dry_backing *);
} complete = {
	dry_backing_alloc,    dry_backing_publish,  dry_backing_free,	   dry_backing_address,	   dry_backing_node_of,
	dry_backing_ref,      dry_backing_deref,    dry_backing_slab_of,   dry_backing_is_slab,	   dry_backing_find,
	dry_backing_contains, dry_backing_is_of,    dry_backing_meta_alloc, dry_backing_meta_free, dry_backing_page_shift,
	dry_backing_max_order, dry_backing_bytes,   dry_backing_node,
};
