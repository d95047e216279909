/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Arenas in windows: reserved as they grow; others' memory in the way of the pages is passed over and left alone, in the way of
 * the arrays it is the end of growth; an array beside the pages follows them; a limit on address space; windows do not overlap.
 * DRY_TEST_NO_NORSEQ: pages know nothing of slots.
 * DRY_TEST_NO_POSIX: it has no windows.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "check.h"
#include "page/huge.h"
#include "page/internal.h"
#include "random.h"

#define CHUNK   DRY_CHUNK_SIZE
#define GIB     ((size_t)1 << 30)
#define TOUCHED ((size_t)32 << 20) /* bytes of a page in each chunk that are written to, at most */

static struct dry_arena arena;
static uint32_t chunk; /* pages */

static void begin(size_t size, bool guarded)
{
	struct dry_arena_attr attr = { .reserve = size, .guarded = guarded };

	CHECK_EQ(dry_arena_init(&arena, &attr), 0);
	chunk = UINT32_C(1) << arena.max_order;
	CHECK(arena.window && arena.reserved == chunk);
	CHECK_EQ((size_t)arena.pages << arena.page_shift, size);
}

static struct dry_page *take_untouched(void)
{
	struct dry_page *page = dry_arena_alloc(&arena, chunk, 1, 0);

	if (arena.committed < 300 * chunk) /* it looks at every page */
		CHECK(dry_arena_check(&arena) == NULL);
	return page;
}

static struct dry_page *take(void)
{
	struct dry_page *page = take_untouched();

	if (page == NULL)
		return NULL;
	char *at = dry_arena_start(&arena, page);
	CHECK(dry_arena_contains(&arena, at) && at[0] == 0 && at[CHUNK - 1] == 0);
	CHECK_EQ(arena.map[((uintptr_t)at - arena.base) >> DRY_GRANULE_SHIFT], 0);
	at[0] = at[CHUNK - 1] = 1;
	return page;
}

static char *foreign(char *at, size_t size)
{
	CHECK(mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == at);
	memset(at, 0x77, size);
	return at;
}

static void kept(char *at, size_t size)
{
	for (size_t i = 0; i < size; i += 1024)
		CHECK_EQ(at[i], 0x77);
	CHECK(dry_arena_run_of(&arena, at) == NULL && dry_arena_run_of(&arena, at + size - 1) == NULL);
}

static bool mapped(void *at)
{
	unsigned char there;

	return mincore(at, 1, &there) == 0;
}

/* What is reserved is never much more than what is used. */
static void grows(void)
{
	begin(64 * GIB, false);
	for (size_t taken = 1; taken <= 256; taken++) {
		CHECK(take() != NULL);
		CHECK(((size_t)arena.reserved << arena.page_shift) <= taken * CHUNK + taken * CHUNK / 8 + 5 * CHUNK);
		CHECK(arena.desc_array.reserved <= (size_t)arena.reserved * 64 + 2 * dry_port_page_size());
		CHECK_EQ(dry_arena_granules(&arena), (size_t)arena.reserved << arena.page_shift >> DRY_GRANULE_SHIFT);
	}
	dry_arena_fini(&arena);
}

/* Others' memory lies where the arena grows to: in the next chunk, and further away; part of a chunk and many. */
static void in_the_way(bool guarded)
{
	size_t big = 37 * CHUNK;
	char *first, *second, *base;

	begin(GIB, guarded);
	base = (char *)arena.base;
	first = foreign(base + CHUNK + (guarded ? dry_port_page_size() : 0), 65536);
	second = foreign(base + 11 * CHUNK + 65536, big);
	for (unsigned i = 0; i < 40; i++)
		CHECK(take() != NULL);
	CHECK(arena.lost >= (38 + 1) * chunk && arena.lost <= 2 * (38 + 1) * chunk);
	kept(first, 65536);
	kept(second, big);
	/* They are nobody's: purging, retiring, and runs of more than a chunk go around them. */
	for (uint32_t i = 0; i < arena.committed; i += chunk)
		if (dry_page_kind(&arena.desc[i]) == DRY_PAGE_RUN)
			dry_arena_free(&arena, &arena.desc[i]);
	CHECK_EQ(arena.used, 0);
	dry_arena_purge_all(&arena);
	CHECK(dry_arena_check(&arena) == NULL && arena.retired == 40);
	for (uint32_t count = 2; count < 32; count *= 2)
		CHECK(dry_arena_alloc(&arena, count * chunk, 1, 0) != NULL);
	CHECK(dry_arena_check(&arena) == NULL);
	dry_arena_fini(&arena);
	kept(first, 65536);
	kept(second, big);
	CHECK(!mapped(base) && !mapped(base + CHUNK / 2) && !mapped(base + 100 * CHUNK) && !mapped(second + big));
	munmap(first, 65536);
	munmap(second, big);
}

/*
 * The first chunk is short: it grows at its front until it meets others' memory, runs of more than a chunk come after it, and its
 * pages are used like all, until the end.
 */
static void short_first(bool guarded)
{
	struct dry_arena_attr attr = { .reserve = GIB, .first = 512 << 10, .guarded = guarded };
	uint32_t lost, pages = 0;
	struct dry_page *run;
	char *first, *block;

	CHECK_EQ(dry_arena_init(&arena, &attr), 0);
	chunk = UINT32_C(1) << arena.max_order;
	lost = chunk - (uint32_t)(attr.first >> arena.page_shift);
	first = (char *)arena.base + CHUNK - attr.first;
	CHECK(arena.window && arena.missing == lost && mapped(first) && !mapped(first - dry_port_page_size() * 2));
	CHECK(!dry_arena_give_up(&arena, CHUNK));
	block = foreign((char *)arena.base, CHUNK / 8 * 5);
	while ((run = dry_arena_alloc(&arena, 1, 1, 0)) != NULL && (char *)dry_arena_start(&arena, run) < first + attr.first) {
		CHECK((char *)dry_arena_start(&arena, run) >= (char *)arena.base + CHUNK / 8 * 5);
		*(char *)dry_arena_start(&arena, run) = 1;
		pages++;
	}
	lost -= chunk / 8; /* as much as there was, half a MiB; then a MiB would, of which the others have half */
	CHECK(run != NULL && pages == chunk - lost && arena.lost == lost && arena.front == DRY_PAGE_NIL);
	CHECK(dry_arena_alloc(&arena, 2 * chunk, 1, 0) != NULL && dry_arena_check(&arena) == NULL);
	for (uint32_t i = 0; i < arena.committed; i++)
		if (dry_page_kind(&arena.desc[i]) == DRY_PAGE_RUN)
			dry_arena_free(&arena, &arena.desc[i]);
	dry_arena_purge_all(&arena);
	dry_arena_advise_huge(&arena, DRY_HUGE_NEVER);
	CHECK(arena.used == 0 && arena.retired == arena.committed / chunk - 1 && dry_arena_check(&arena) == NULL);
	kept(block, CHUNK / 8 * 5);
	CHECK(dry_arena_alloc(&arena, 1, 1, 0) != NULL);
	dry_arena_fini(&arena);
	kept(block, CHUNK / 8 * 5);
	CHECK(!mapped(first) && !mapped(first + attr.first) && !mapped(first + attr.first + CHUNK));
	/* to the front of the chunk, which is whole then, and retires */
	CHECK_EQ(dry_arena_init(&arena, &attr), 0);
	while (dry_arena_alloc(&arena, 1, 1, 0) != NULL && arena.committed == chunk && arena.used < chunk)
		CHECK(dry_arena_check(&arena) == NULL);
	CHECK(arena.used == chunk && arena.lost == 0 && arena.front == DRY_PAGE_NIL && mapped((void *)arena.base));
	for (uint32_t i = 0; i < arena.committed; i++)
		dry_arena_free(&arena, &arena.desc[i]);
	dry_arena_purge_all(&arena);
	CHECK(arena.retired == 1 && dry_arena_check(&arena) == NULL);
	first = (char *)arena.base;
	dry_arena_fini(&arena);
	CHECK(!mapped(first) && !mapped(first + CHUNK - 1));
	/* never grown; and a run of more than a chunk before anything else */
	CHECK_EQ(dry_arena_init(&arena, &attr), 0);
	first = (char *)arena.base + CHUNK - attr.first;
	dry_arena_fini(&arena);
	CHECK(!mapped(first));
	CHECK_EQ(dry_arena_init(&arena, &attr), 0);
	CHECK(dry_arena_alloc(&arena, 3 * chunk, 1, 0) != NULL && dry_arena_check(&arena) == NULL);
	dry_arena_fini(&arena);
	munmap(block, CHUNK / 8 * 5);
}

/* A run grows, and meets others' memory. */
static void run_in_the_way(void)
{
	struct dry_page *page;
	char *block;

	begin(GIB, false);
	page = take();
	block = foreign((char *)arena.base + 3 * CHUNK, CHUNK);
	CHECK(dry_arena_extend_run(&arena, page, 2 * chunk) && page->count == 2 * chunk);
	CHECK(!dry_arena_extend_run(&arena, page, 8 * chunk) && page->count == 2 * chunk);
	CHECK(dry_arena_check(&arena) == NULL);
	kept(block, CHUNK);
	dry_arena_fini(&arena);
	munmap(block, CHUNK);
}

/* Behind an array there is nothing to pass over: the arena is as big as it was. A page of bytes of chunks tells of page * CHUNK. */
static void array_in_the_way(void)
{
	struct dry_arena_array *arrays[] = { &arena.desc_array, &arena.map_array, &arena.chunk_array, &arena.side_array };

	for (unsigned i = 0; i < 4; i++) {
		size_t page = dry_port_page_size(), got = 0, most = page * 2;
		char *block;

		begin(most * 2 * CHUNK, false);
		CHECK(dry_arena_add_side(&arena, 1) != NULL);
		block = (char *)arrays[i]->start; /* that of the chunks grows downwards */
		block = foreign(arrays[i] == &arena.chunk_array ? block - page : block + arrays[i]->reserved + page, page);
		while (got < most && (got * page < TOUCHED ? take() : take_untouched()) != NULL)
			got++;
		CHECK(got != 0 && got < most);
		kept(block, page);
		dry_arena_fini(&arena);
		CHECK_EQ(*block, 0x77);
		munmap(block, page);
	}
}

/* Asked for when there are pages already: all that is committed has entries, and those of retired chunks are zero. */
static void beside(bool window)
{
	unsigned char memory[1];
	char *side, *end;
	size_t reserved;

	begin(GIB, false);
	arena.window = window; /* without: all of it is reserved */
	CHECK(take() != NULL);
	side = dry_arena_add_side(&arena, 2);
	CHECK(side != NULL && side == arena.side_array.start);
	arena.window = true;
	CHECK_EQ(arena.side_array.reserved, (window ? CHUNK : GIB) / 8);
	for (size_t taken = 1; taken < 40; taken++) {
		CHECK_EQ(arena.side_array.committed, taken * CHUNK / 8);
		CHECK(side[taken * CHUNK / 8 - 1] == 0);
		side[taken * CHUNK / 8 - 1] = side[(taken - 1) * CHUNK / 8] = 1;
		CHECK(take() != NULL);
	}
	reserved = arena.side_array.reserved;
	end = side + reserved;
	CHECK_EQ(reserved, (window ? (size_t)arena.reserved << arena.page_shift : GIB) / 8);
	for (uint32_t i = 0; i < arena.committed; i += 2 * chunk)
		dry_arena_free(&arena, &arena.desc[i]);
	dry_arena_purge_all(&arena);
	CHECK_EQ(arena.retired, 20);
	for (size_t i = 0; i < 39; i++)
		CHECK(side[i * CHUNK / 8] == (int)(i % 2) && side[(i + 1) * CHUNK / 8 - 1] == (int)(i % 2));
	arena.window = window; /* its pages were reserved as those of the rest, or not */
	dry_arena_fini(&arena);
	CHECK(mincore(side, 1, memory) != 0 && mincore(end, 1, memory) != 0 && mincore(end - dry_port_page_size(), 1, memory) != 0);
}

/* In a chunk that stays in use, too, a block that is given back takes its part of the array along: no more, no less. */
static void beside_blocks(void)
{
	struct dry_page *run[16];
	char *side;
	size_t bytes;

	begin(GIB, false);
	bytes = ((size_t)16 << arena.page_shift) / 8;
	side = dry_arena_add_side(&arena, 2);
	for (unsigned i = 0; i < 16; i++)
		CHECK((run[i] = dry_arena_alloc(&arena, 16, 16, 0)) != NULL);
	for (unsigned i = 0; i < 16; i++)
		memset(side + dry_arena_index_of(&arena, run[i]) / 16 * bytes, 1, bytes);
	for (unsigned i = 0; i < 16; i += 3)
		dry_arena_free(&arena, run[i]);
	CHECK_EQ(dry_arena_purge_all(&arena), 6 * 16);
	CHECK_EQ(arena.retired, 0);
	for (unsigned i = 0; i < 16; i++)
		for (size_t k = 0; k < bytes; k++)
			CHECK(side[dry_arena_index_of(&arena, run[i]) / 16 * bytes + k] == (i % 3 != 0));
	dry_arena_fini(&arena);
}

static void gives_up(void)
{
	uint32_t before;

	begin(GIB, false);
	CHECK(!dry_arena_give_up(&arena, (size_t)2 << 30));
	for (unsigned i = 0; i < 4; i++)
		CHECK(take() != NULL && !dry_arena_give_up(&arena, 1));
	CHECK(take() != NULL);
	before = arena.reserved;
	CHECK(before > 6 * chunk);
	CHECK(dry_arena_give_up(&arena, 1) && arena.reserved == before - chunk);
	char *block = foreign(dry_arena_address(&arena, arena.reserved), CHUNK);
	CHECK(dry_arena_give_up(&arena, GIB) && arena.reserved == 5 * chunk);
	for (unsigned i = 0; i < 20; i++)
		CHECK(take() != NULL);
	kept(block, CHUNK);
	dry_arena_fini(&arena);
	munmap(block, CHUNK);
}

/* Chunks that are wholly free: others' memory has place there; they are had again, but where others are. */
static void gives_up_chunks(void)
{
	struct dry_page *run[10], *page;
	char *at[10], *block;
	uint32_t committed;

	begin(GIB, false);
	for (unsigned i = 0; i < 10; i++)
		at[i] = dry_arena_start(&arena, run[i] = take());
	while (dry_arena_give_up(&arena, GIB)) /* what was never used */
		;
	committed = arena.committed;
	CHECK(arena.reserved == committed && committed == 10 * chunk && arena.gone == 0);
	page = dry_arena_alloc(&arena, 1, 1, 0);
	CHECK(page != NULL && arena.committed == 11 * chunk);
	while (dry_arena_give_up(&arena, GIB))
		;
	for (unsigned i = 2; i < 10; i++)
		dry_arena_free(&arena, run[i]);
	/* 7, 8, 9 as they are, then retired ones */
	CHECK(dry_arena_give_up(&arena, 2 * CHUNK + 1) && arena.gone == 3 && arena.lost == 3 * chunk);
	CHECK(dry_arena_check(&arena) == NULL && !mapped(at[9]) && !mapped(at[7]) && mapped(at[6]));
	dry_arena_purge_all(&arena);
	CHECK_EQ(arena.retired, 5);
	CHECK(dry_arena_give_up(&arena, GIB) && arena.gone == 8 && arena.retired == 0 && arena.lost == 8 * chunk);
	CHECK(dry_arena_check(&arena) == NULL && !mapped(at[2]) && mapped(at[1]) && !dry_arena_give_up(&arena, 1));
	block = foreign(at[4] + 4096 * 16, 65536);
	for (unsigned i = 2; i < 9; i++) {
		run[i] = take();
		CHECK(dry_arena_start(&arena, run[i]) == at[i < 4 ? i : i + 1]);
	}
	CHECK(arena.gone == 0 && arena.lost == chunk && arena.committed == 11 * chunk);
	CHECK(take() != NULL && arena.committed == 12 * chunk);
	kept(block, 65536);
	dry_arena_fini(&arena);
	kept(block, 65536);
	CHECK(!mapped(at[0]) && !mapped(at[2]) && !mapped(at[9]));
	munmap(block, 65536);
}

/* Runs of more than a chunk take chunks that were given up, as far as they still can: else each would lie behind the last one. */
static void gives_up_wide(void)
{
	struct dry_page *run;
	char *block;

	begin(GIB, false);
	for (unsigned i = 0; i < 100; i++) {
		run = dry_arena_alloc(&arena, 3 * chunk + 1, 1, 0);
		CHECK(run != NULL && dry_arena_check(&arena) == NULL);
		CHECK(*(char *)dry_arena_start(&arena, run) == 0 && ((char *)dry_arena_start(&arena, run))[3 * CHUNK] == 0);
		memset(dry_arena_start(&arena, run), 1, 3 * CHUNK + 4096);
		dry_arena_free(&arena, run);
		if (i % 2 == 0)
			dry_arena_purge_all(&arena);
		CHECK(dry_arena_give_up(&arena, GIB) && dry_arena_check(&arena) == NULL);
	}
	CHECK(arena.committed == 4 * chunk && arena.gone == 4 && arena.used == 0);
	/* others have come into the second; it has place behind that */
	block = foreign((char *)arena.base + CHUNK + 65536, 65536);
	run = dry_arena_alloc(&arena, 3 * chunk, 1, 0);
	CHECK(run != NULL && dry_arena_start(&arena, run) == (char *)arena.base + 2 * CHUNK && dry_arena_check(&arena) == NULL);
	CHECK(arena.lost == chunk && arena.gone == 0);
	/* and one that has such a chunk behind it grows into that */
	struct dry_page *first = dry_arena_alloc(&arena, chunk, 1, 0), *next = dry_arena_alloc(&arena, chunk, 1, 0);
	CHECK(first != NULL && next != NULL && dry_arena_start(&arena, first) == (char *)arena.base);
	CHECK(!dry_arena_extend_run(&arena, first, chunk + 1));
	dry_arena_free(&arena, next);
	CHECK(dry_arena_give_up(&arena, GIB) && arena.gone == 1);
	CHECK(dry_arena_extend_run(&arena, run, 3 * chunk + 1) && arena.gone == 0 && dry_arena_check(&arena) == NULL);
	kept(block, 65536);
	dry_arena_fini(&arena);
	kept(block, 65536);
	munmap(block, 65536);
}

/* Each arena to its limit, and other memory has place again when it is gone. A sanitizer's shadow is beyond any limit. */
static void limited(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return;
#endif
	struct rlimit limit;
	size_t got = 0;
	int status;
	pid_t child = fork();

	CHECK(child >= 0);
	if (child != 0) {
		CHECK(waitpid(child, &status, 0) == child && status == 0);
		return;
	}
	limit.rlim_cur = limit.rlim_max = (size_t)400 << 20;
	CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
	begin(64 * GIB, false);
	while (take() != NULL)
		got++;
	printf("%zu chunks of 4 MiB under a limit of 400 MiB\n", got);
	fflush(stdout);
	CHECK(got >= 88 && arena.reserved == got * chunk); /* this program has 15 MiB */
	dry_arena_fini(&arena);
	CHECK(mmap(NULL, (size_t)350 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
	_exit(0);
}

/* From one to the next, each a random way on, and where there is no more room from the beginning. */
static void apart(void)
{
	size_t size = (size_t)1 << 40;
	char *last = dry_port_window(size, CHUNK), *lowest = last, *next;
	unsigned far = 0, close = 0;

	CHECK(last != NULL);
	for (unsigned i = 0; i < 100; i++) {
		next = dry_port_window(size, CHUNK);
		CHECK(next != NULL && (uintptr_t)next % CHUNK == 0);
		far += next < last || next - last > (ptrdiff_t)(size + size / 4);
		close += next - last >= (ptrdiff_t)size && next - last < (ptrdiff_t)(size + CHUNK);
		lowest = next < lowest ? next : lowest;
		last = next;
	}
	CHECK(far > 3 && far < 50 && close < 10);
	CHECK(dry_port_window(SIZE_MAX / 2, CHUNK) == NULL);
	CHECK(dry_port_reserve_at(next + 1, dry_port_page_size(), false) != 0); /* where no page begins */
	CHECK_EQ(dry_port_reserve_at((void *)((uintptr_t)&arena & -dry_port_page_size()), dry_port_page_size(), false), -EBUSY);
}

int main(int argc, char **argv)
{
	test_seed(argc, argv);
	limited();
	grows();
	in_the_way(false);
	in_the_way(true);
	short_first(false);
	short_first(true);
	run_in_the_way();
	array_in_the_way();
	beside(true);
	beside(false);
	beside_blocks();
	gives_up();
	gives_up_chunks();
	gives_up_wide();
	apart();
	return 0;
}
