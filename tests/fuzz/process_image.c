/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "process_image.h"

#include <string.h>

#include "../../tools/drystone/cli.h"
#include "../../tools/drystone/map.h"
#include "../../tools/drystone/page.h"

union process_memory process_memory;
const char page_map[] = "/*DATA*/"; /* the data alone */

void cli_error(const char *format, ...)
{
	(void)format;
}

double cli_now(void)
{
	return 0;
}

void *cli_realloc(void *block, size_t count, size_t size)
{
	void *result;

	EXPECT(size && count < ((size_t)64 << 20) / size); /* no value from outside makes it big */
	result = realloc(block, count ? count * size : 1);
	EXPECT(result);
	return result;
}

#define AT(member) (BASE + offsetof(struct image, member))
#define F(type, member) DRY_INSPECT_FIELD(struct type, member)

static const struct dry_inspect published = {
	.magic = DRY_INSPECT_MAGIC, .version = DRY_INSPECT_VERSION, .size = sizeof(struct dry_inspect),
	.pointer_size = sizeof(void *), .node_size = sizeof(struct node), .avail_bits = 16,
	.array_unit = sizeof(struct array), .depot_size = sizeof(struct depot),
	.heap_next = F(heap, next), .heap_name = F(heap, name), .heap_caches = F(heap, caches),
	.heap_slot_table = F(heap, slots), .heap_slots = F(heap, slot_count), .heap_nodes = F(heap, nodes),
	.cache_next = F(cache, next), .cache_name = F(cache, name), .cache_root = F(cache, root),
	.cache_object_size = F(cache, object_size), .cache_size = F(cache, size), .cache_num = F(cache, num),
	.cache_order = F(cache, order), .cache_limit = F(cache, limit), .cache_batchcount = F(cache, batchcount),
	.cache_flags = F(cache, flags), .cache_array = F(cache, array_at),
	.cache_nodes = F(cache, node), .cache_kept = F(cache, kept),
	.node_slabs = F(node, slabs), .node_free_objects = F(node, free_objects), .node_free_slabs = F(node, free_slabs),
	.node_shared_avail = F(node, shared), .node_slow_allocs = F(node, slow_allocs),
	.node_slow_frees = F(node, slow_frees), .node_bulk_allocs = F(node, bulk_allocs),
	.node_pops_apart = F(node, pops_apart), .node_alien = F(node, alien),
	.depot_avail = F(depot, avail), .array_word = F(array, word), .array_limit = F(array, limit),
	.shared_factor = 8, .node_lock_rounds = F(node, lock_rounds), .node_shared_entry = F(node, shared_entry),
	.depot_entry = F(depot, entry), .heap_area_size = F(heap, area_size),
	.heap_meta_arena = F(heap, meta), .heap_meta_pages = F(heap, meta_pages),
	.heap_arenas = F(heap, arena), .arena_base = F(arena, base), .arena_page_shift = F(arena, page_shift),
	.arena_pages = F(arena, pages), .arena_committed = F(arena, committed), .arena_free_dirty = F(arena, free_dirty),
	.arena_free_clean = F(arena, free_clean), .arena_limbo = F(arena, limbo), .arena_desc = F(arena, desc),
	.arena_desc_bytes = F(arena, desc_bytes), .arena_map = F(arena, map), .arena_map_bytes = F(arena, map_bytes),
	.arena_chunks = F(arena, chunks), .arena_chunks_bytes = F(arena, chunks_bytes), .page_kind = F(page, kind),
	.page_count = F(page, count), .page_cache = F(page, cache), .page_active = F(page, active), .extents_table = F(heap, table),
	.extents_slots = F(heap, table_slots), .extents_kept = F(heap, kept), .extents_kept_count = F(heap, kept_count),
	.extent_address = F(extent, address), .extent_bytes = F(extent, bytes), .kept_address = F(extent, address),
	.kept_bytes = F(extent, bytes), .arena_size = sizeof(struct arena), .page_size = sizeof(struct page),
	.extent_size = sizeof(struct extent), .kept_size = sizeof(struct extent),
	.node_lock_waits = F(node, lock_rounds), .node_slabs_made = F(node, slabs), .node_peak_slabs = F(node, slabs),
	.node_remote_frees = F(node, slow_frees), .node_failures = F(node, pops_apart), .node_shared_moves = F(node, shared),
	.depot_moves = F(depot, pad), .depot_allocs = F(depot, pad),
	.depot_frees = F(depot, pad), .heap_failures = F(heap, failures), .heap_reaps = F(heap, nodes),
	.arena_purged = F(arena, pages), .extents_purged = F(heap, table_slots),
	.guards_base = F(guards, base), .guards_table = F(guards, table), .guards_fresh = F(guards, fresh),
	.guard_state = F(guard, state), .guard_page = F(guard, page), .guard_pages = F(guard, pages),
	.guard_live = 2, .guard_size = sizeof(struct guard),
	.extent_bits = 56, .page_free = 1, .page_run = 2, .page_slab = 3,
};

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static void make_elf(struct image *m)
{
	memcpy(m->header.e_ident, ELFMAG, SELFMAG);
	m->header.e_ident[EI_CLASS] = ELFCLASS64;
	m->header.e_phoff = offsetof(struct image, segment);
	m->header.e_phentsize = sizeof(m->segment[0]);
	m->header.e_phnum = 2;
	m->segment[0] = (ElfW(Phdr)){ .p_type = PT_LOAD, .p_memsz = IMAGE };
	m->segment[1] = (ElfW(Phdr)){ .p_type = PT_DYNAMIC, .p_vaddr = offsetof(struct image, dynamic),
				      .p_memsz = sizeof(m->dynamic) };
	m->dynamic[0] = (ElfW(Dyn)){ DT_SYMTAB, { offsetof(struct image, symbol) } };
	m->dynamic[1] = (ElfW(Dyn)){ DT_STRTAB, { AT(strings) } };
	m->dynamic[2] = (ElfW(Dyn)){ DT_GNU_HASH, { AT(hash) } };
	memcpy(m->strings + 1, DRY_INSPECT_SYMBOL, sizeof(DRY_INSPECT_SYMBOL));
	m->symbol[1] = (ElfW(Sym)){ .st_name = 1, .st_shndx = 1, .st_value = offsetof(struct image, layout) };
	m->hash.buckets = m->hash.first = m->hash.words = m->hash.bucket = 1;
	m->hash.chain[0] = hash_of(DRY_INSPECT_SYMBOL) | 1;
}

static void make_heaps(struct image *m)
{
	static const struct page pages[16] = { { 3, 77, 4, 0 }, [4] = { 2, 0, 9, 0 }, [13] = { 1, 0, 2, 0 },
					       [15] = { 2, 0, 1, 0 } };
	struct heap *heap = &m->heap[0];

	*heap = (struct heap){ .name = "main", .next = AT(heap[1]), .caches = AT(cache[0]), .slots = AT(slots),
			       .slot_count = 3, .nodes = 2, .failures = 4096, .table = AT(extent), .table_slots = 4,
			       .kept = AT(heap[0].spare), .kept_count = 1, .spare = { { 0x900000, 8192 } } };
	m->heap[1] = (struct heap){ .name = "second", .caches = AT(cache[3]), .nodes = 1 };
	heap->arena[0] = (struct arena){ .base = 0x800000, .pages = 64, .committed = 16, .free_dirty = 1, .free_clean = 1,
					 .desc = AT(page), .desc_bytes = 4096, .map = AT(stopped), .map_bytes = 64,
					 .page_shift = 12 };
	memcpy(m->page, pages, sizeof(pages));
	m->page[0].cache = AT(cache[0]);
	m->extent[1] = (struct extent){ 0xa00000, 3 << 20 };
	m->guard[1] = (struct guard){ 5, 1, 2 };
	m->guard[3] = (struct guard){ 9, 700, 3 }; /* freed */
	m->guards = (struct guards){ 0xf00000, AT(guard), 4 };
}

void process_image_make(void)
{
	struct image *m = &process_memory.image;

	memset(&process_memory, 0, sizeof(process_memory));
	make_elf(m);
	m->layout = published;
	m->layout.heaps = (void *)(uintptr_t)AT(heaps);
	m->layout.default_heap = (void *)(uintptr_t)AT(heap[0]);
	m->layout.guards = (void *)(uintptr_t)AT(guards);
	m->layout.stopped_area = (void *)(uintptr_t)AT(stopped);
	m->heaps = AT(heap[0]);
	make_heaps(m);
	m->slots[0] = AT(area[0]);
	m->slots[1] = AT(stopped);
	m->slots[2] = AT(area[1]);
	for (unsigned i = 0; i < 4; i++) {
		struct cache *cache = &m->cache[i];

		*cache = (struct cache){ .name = "cache-", .next = i < 2 ? AT(cache[1]) + i * sizeof(*cache) : 0,
					 .root = i == 2 ? AT(cache[0]) : AT(cache[0]) + i * sizeof(*cache),
					 .object_size = 30, .size = 32, .num = 100, .order = 2, .limit = 20, .batchcount = 10,
					 .array_at = i == 1 ? 2 : 1 };
		cache->name[6] = (char)('a' + i);
		cache->node[0] = (struct node){ 15, 150, 1, 30, i == 0 ? AT(depot) : 0, 7, 8, 9, 0, 10, 0 };
		m->area[i / 2][i].word = i | i << 16;
	}
	m->depot[1].avail = 9;
}

/* Damages up to one of length 0. */
void process_image_damage(struct input *in)
{
	for (unsigned n = 0; n < 64; n++) {
		size_t at = input_16(in) % IMAGE, bytes = input_8(in) % 17;

		if (bytes == 0)
			return;
		while (bytes-- && at < sizeof(struct image))
			process_memory.bytes[at++] = (unsigned char)input_8(in);
	}
}

static void texts_are_clean(const char *text)
{
	EXPECT(strnlen(text, ROW_NAME) < ROW_NAME);
	for (; *text; text++)
		EXPECT(*text > ' ' && *text <= '~');
}

static void check(const struct snapshot *s)
{
	EXPECT(s->count <= 1u << 18);
	for (size_t i = 0; i < s->count; i++) {
		const struct row *row = &s->rows[i];

		texts_are_clean(row->heap);
		texts_are_clean(row->name);
		texts_are_clean(row->alias_of);
		if (row->kind != ROW_CACHE)
			continue;
		EXPECT(row->v[FIG_ACTIVE] <= row->v[FIG_TOTAL]);
		EXPECT(row->v[FIG_ACTIVE_SLABS] <= row->v[FIG_SLABS]);
	}
	EXPECT(s->map.regions <= s->map.region_room && s->map.pieces <= s->map.piece_room);
	for (size_t i = 0; i < s->map.regions; i++)
		EXPECT(s->map.region[i].first <= (i + 1 < s->map.regions ? s->map.region[i + 1].first : s->map.pieces));
	for (size_t i = 0; i < s->map.pieces; i++) {
		const struct piece *piece = &s->map.piece[i];

		EXPECT(piece->pages != 0 && (piece->kind != PIECE_SLAB || piece->row < s->count));
		EXPECT(piece->used <= (piece->kind == PIECE_SLAB ? s->rows[piece->row].v[FIG_PER_SLAB] : piece->pages));
	}
}

/* The page of `drystone map`: bounded by what was read. */
static void draw(const struct snapshot *s)
{
	struct map_page page;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	EXPECT(out);
	map_page_begin(&page, out, s);
	map_page_add(&page, s);
	map_page_add(&page, s);
	map_page_end(&page);
	fclose(out);
	EXPECT(page.caches <= s->count && size < 65536 + 2048 * s->count + 128 * s->map.pieces + 512 * s->map.regions);
	free(text);
}

size_t process_image_look(struct target *target)
{
	const struct walk_options options = { .blocks = true, .parts = true, .map = true };
	struct dry_inspect layout;
	struct snapshot s;
	size_t count;

	if (target_find_layout(target, true, &layout) != TARGET_OK)
		return 0;
	walk_target(target, &layout, &options, &s);
	check(&s);
	draw(&s);
	count = s.count;
	snapshot_free(&s);
	target_malloc_owner(target);
	return count;
}
