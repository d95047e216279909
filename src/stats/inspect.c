/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Where a reader outside of the process finds things; see <drystone/inspect.h>. */
#include <drystone/inspect.h>

#include "heap/heap.h"

#define FIELD(type, member) DRY_INSPECT_FIELD(struct type, member)

DRY_EXPORT const struct dry_inspect dry_inspect = {
	.magic = DRY_INSPECT_MAGIC,
	.version = DRY_INSPECT_VERSION,
	.size = sizeof(struct dry_inspect),
	.pointer_size = sizeof(void *),
	.node_size = sizeof(struct dry_node),
	.avail_bits = 16,
	.packed_bits = 8,
	.array_unit = 8,
	.depot_size = sizeof(struct dry_depot),
	.heap_next = FIELD(dry_heap, next),
	.heap_name = FIELD(dry_heap, name),
	.heap_caches = FIELD(dry_heap, caches.first),
	.heap_slot_table = FIELD(dry_heap, caches.areas),
	.heap_slots = FIELD(dry_heap, caches.slot_count),
	.heap_nodes = FIELD(dry_heap, caches.nodes),
	.cache_next = FIELD(dry_cache, next),
	.cache_name = FIELD(dry_cache, name),
	.cache_root = FIELD(dry_cache, root),
	.cache_object_size = FIELD(dry_cache, object_size),
	.cache_size = FIELD(dry_cache, size),
	.cache_num = FIELD(dry_cache, num),
	.cache_order = FIELD(dry_cache, order),
	.cache_limit = FIELD(dry_cache, limit),
	.cache_batchcount = FIELD(dry_cache, batchcount),
	.cache_flags = FIELD(dry_cache, flags),
	.cache_alloc_array = FIELD(dry_cache, alloc_place),
	.cache_free_array = FIELD(dry_cache, free_place),
	.cache_nodes = { (uint32_t)offsetof(struct dry_cache, node), DRY_MAX_NODES * sizeof(struct dry_node) },
	.array_word = FIELD(dry_array, word),
	.array_limit = FIELD(dry_array, limit),
	.node_slabs = FIELD(dry_node, slabs),
	.node_free_objects = FIELD(dry_node, free_objects),
	.node_free_slabs = FIELD(dry_node, free_slabs),
	.node_shared_avail = { (uint32_t)(offsetof(struct dry_node, shared) + offsetof(struct dry_depot, avail)),
			       sizeof(uint32_t) },
	.node_alien = FIELD(dry_node, alien),
	.depot_avail = FIELD(dry_depot, avail),
	.node_slow_allocs = FIELD(dry_node, slow_allocs),
	.node_slow_frees = FIELD(dry_node, slow_frees),
	.node_bulk_allocs = FIELD(dry_node, bulk_allocs),
	.shared_factor = DRY_SHARED_FACTOR,
	.stopped_area = dry_stopped_area,
	.heaps = &dry_heaps,
	.default_heap = &dry_main_heap,
};
