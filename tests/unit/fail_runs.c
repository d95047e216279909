/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "fail_runs.h"

#include "page/page.h"

atomic_long run_calls;
atomic_long run_fail_at;
atomic_bool run_fail_after;

struct dry_page *__real_dry_arena_alloc(struct dry_arena *arena, uint32_t count, uint32_t align_pages, unsigned node);
struct dry_page *__wrap_dry_arena_alloc(struct dry_arena *arena, uint32_t count, uint32_t align_pages, unsigned node);
struct dry_page *__real_dry_arena_alloc_slab(struct dry_arena *arena, unsigned order, unsigned node, size_t slabs);
struct dry_page *__wrap_dry_arena_alloc_slab(struct dry_arena *arena, unsigned order, unsigned node, size_t slabs);

static bool fails(void)
{
	long call = atomic_fetch_add(&run_calls, 1) + 1, at = atomic_load(&run_fail_at);

	return at && (call == at || (call > at && atomic_load(&run_fail_after)));
}

struct dry_page *__wrap_dry_arena_alloc(struct dry_arena *arena, uint32_t count, uint32_t align_pages, unsigned node)
{
	return fails() ? NULL : __real_dry_arena_alloc(arena, count, align_pages, node);
}

struct dry_page *__wrap_dry_arena_alloc_slab(struct dry_arena *arena, unsigned order, unsigned node, size_t slabs)
{
	return fails() ? NULL : __real_dry_arena_alloc_slab(arena, order, node, slabs);
}
