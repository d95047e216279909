/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Each call of a backing with its exact type: see backing.h. */
#include <drystone/drystone.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/backing.h"

_Static_assert(DRY_SLAB_WORDS >= 2, "chains use two words");
_Static_assert(sizeof(((struct dry_slab *)0)->bits[0]) == 8 &&
		       sizeof(((struct dry_slab *)0)->bits) == DRY_SLAB_WORDS * sizeof(uint64_t),
	       "a bitmap's words");
_Static_assert(sizeof(((struct dry_slab *)0)->grace) >= sizeof(struct dry_grace_head),
	       "a deferred call fits where the free list was");

#define CALL(call, ...) _Static_assert(__builtin_types_compatible_p(__typeof__(call), __VA_ARGS__), #call " is of another type")

CALL(dry_backing_alloc, struct dry_slab *(struct dry_backing *, unsigned order, unsigned single, unsigned node, dry_gfp gfp,
					    size_t slabs));
CALL(dry_backing_is_single, bool (const struct dry_slab *, unsigned order));
CALL(dry_backing_publish, void (struct dry_backing *, struct dry_slab *, uint32_t place));
CALL(dry_backing_free, void (struct dry_backing *, struct dry_slab *));
CALL(dry_backing_address, void *(const struct dry_backing *, const struct dry_slab *));
CALL(dry_backing_node_of, unsigned (const struct dry_slab *));
CALL(dry_backing_ref, dry_slab_ref (const struct dry_backing *, const struct dry_slab *));
CALL(dry_backing_deref, struct dry_slab *(const struct dry_backing *, dry_slab_ref));
CALL(dry_backing_slab_of, struct dry_slab *(const struct dry_backing *, const void *, unsigned order));
CALL(dry_backing_locator, struct dry_locator (const struct dry_backing *, unsigned order));
CALL(dry_backing_locate, struct dry_slab *(const struct dry_locator *, const void *, size_t *offset));
CALL(dry_backing_cache_of, struct dry_cache *(const struct dry_slab *));
CALL(dry_backing_set_cache, void (struct dry_slab *, struct dry_cache *));
CALL(dry_backing_is_slab, bool (const struct dry_slab *));
CALL(dry_backing_find, struct dry_slab *(const struct dry_backing *, const void *));
CALL(dry_backing_contains, bool (const struct dry_backing *, const void *));
CALL(dry_backing_is_of, bool (const struct dry_backing *, const void *, uint32_t place));
CALL(dry_backing_meta_alloc, void *(struct dry_backing *, size_t bytes));
CALL(dry_backing_meta_free, void (struct dry_backing *, void *, size_t bytes));
CALL(dry_backing_area_alloc, void *(struct dry_backing *, size_t bytes, size_t most));
CALL(dry_backing_area_extend, bool (struct dry_backing *, void *area, size_t from, size_t to, size_t most));
CALL(dry_backing_area_free, void (struct dry_backing *, void *area, size_t from, size_t to, size_t most));
CALL(dry_backing_page_shift, unsigned (const struct dry_backing *));
CALL(dry_backing_max_order, unsigned (const struct dry_backing *));
CALL(dry_backing_bytes, size_t (const struct dry_backing *));
CALL(dry_backing_may_wait, bool (dry_gfp));
CALL(dry_backing_node, unsigned (const struct dry_backing *));
CALL(dry_backing_self, uintptr_t (void));
CALL(dry_backing_pause, void (void));
