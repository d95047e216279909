/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * An arena used by many threads while others purge it; forks in the middle of a purge; and what
 * stays resident of the metadata when all is freed.
 * DRY_TEST_NO_NORSEQ: pages know nothing of slots.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "check.h"
#include "page/internal.h"
#include "page/page.h"
#include "random.h"

#define THREADS 4
#define HELD    64

static struct dry_arena arena;
static atomic_bool stop;

static void *worker(void *arg)
{
	struct rng rng = { (uint64_t)(uintptr_t)arg };
	struct dry_page *held[HELD] = { NULL };
	size_t steps = test_scaled(40000), i, j;

	for (i = 0; i < steps + HELD; i++) {
		size_t which = i < steps ? rng_below(&rng, HELD) : i - steps;
		uint64_t *words;

		if (held[which] != NULL) {
			words = dry_arena_address(&arena, dry_arena_index_of(&arena, held[which]));
			for (j = 0; j < held[which]->count; j++)
				CHECK(words[j * 512] == ((uintptr_t)words ^ j ^ (uintptr_t)arg));
			CHECK(dry_arena_run_of(&arena, words + j * 512 - 1) == held[which]);
			dry_arena_free(&arena, held[which]);
			held[which] = NULL;
			continue;
		}
		if (i >= steps)
			continue;
		held[which] = dry_arena_alloc(&arena, (uint32_t)(1 + rng_below(&rng, 20)), 1, 0);
		CHECK(held[which] != NULL);
		words = dry_arena_address(&arena, dry_arena_index_of(&arena, held[which]));
		for (j = 0; j < held[which]->count; j++) {
			if (!(held[which]->flags & DRY_PAGE_DIRTY))
				CHECK(words[j * 512] == 0);
			words[j * 512] = (uintptr_t)words ^ j ^ (uintptr_t)arg;
		}
	}
	return NULL;
}

static void *purger(void *arg)
{
	struct rng rng = { (uint64_t)(uintptr_t)arg };

	while (!atomic_load(&stop)) {
		if (rng_below(&rng, 2) != 0)
			dry_arena_decay(&arena, (unsigned)rng_below(&rng, 3));
		else
			dry_arena_purge_all(&arena);
		dry_port_yield();
	}
	return NULL;
}

/* In the child: every free page can be had, and what is not marked dirty reads as zero. */
static void take_all(void)
{
	size_t want = arena.pages - arena.used, word;
	struct dry_page *page;
	uint64_t *words;

	for (; want > 0; want--) {
		page = dry_arena_alloc(&arena, 1, 1, 0);
		CHECK(page != NULL);
		words = dry_arena_address(&arena, dry_arena_index_of(&arena, page));
		if (!(page->flags & DRY_PAGE_DIRTY))
			for (word = 0; word < dry_port_page_size() / 8; word += 64)
				CHECK(words[word] == 0);
	}
	CHECK(dry_arena_alloc(&arena, 1, 1, 0) == NULL);
}

/* Write to every page of a run. */
static void touch(uint32_t index, uint32_t count)
{
	for (; count > 0; count--, index++)
		*(char *)dry_arena_address(&arena, index) = 1;
}

/*
 * In place of dry_port_purge(): a purger that comes by while a fork is wanted stays here,
 * its blocks in limbo, until the fork is done.
 */
static atomic_bool fork_wanted, in_purge;
void __real_dry_port_purge(void *address, size_t size);
void __wrap_dry_port_purge(void *address, size_t size);

void __wrap_dry_port_purge(void *address, size_t size)
{
	/* not for the arrays beside a chunk that is retired: they are purged with the lock held, which the fork waits for */
	while (dry_arena_contains(&arena, address) && atomic_load(&fork_wanted)) {
		atomic_store(&in_purge, true);
		dry_port_yield();
	}
	__real_dry_port_purge(address, size);
}

/* The arena works in the child of a fork in the middle of a purge, none of which was done yet. */
static void child_of_purge(void)
{
	uint32_t i;

	atomic_store(&fork_wanted, false);
	for (i = 0; i < arena.limbo_count; i++)
		touch(arena.limbo[i].index, UINT32_C(1) << arena.limbo[i].order);
	dry_arena_after_fork(&arena);
	dry_lock_reinit(&arena.lock);
	CHECK_EQ(arena.limbo_pages, 0);
	CHECK(dry_arena_check(&arena) == NULL);
	take_all();
	CHECK(dry_arena_check(&arena) == NULL);
	_exit(0);
}

/*
 * Make pages dirty and wait until a purger has taken some; then the lock is held. A purger that has waited for the fork before
 * may say once more that it waits, and be gone: then there may be none in limbo, and it is done again.
 */
static void wait_for_purge(void)
{
	struct dry_page *page;

	for (;;) {
		while ((page = dry_arena_alloc(&arena, 1, 1, 0)) == NULL)
			dry_port_yield();
		atomic_store(&in_purge, false);
		atomic_store(&fork_wanted, true);
		touch(dry_arena_index_of(&arena, page), 1);
		dry_arena_free(&arena, page);
		while (!atomic_load(&in_purge))
			dry_port_yield();
		dry_lock_acquire_unranked(&arena.lock);
		if (arena.limbo_count != 0)
			return;
		dry_lock_release(&arena.lock);
		atomic_store(&fork_wanted, false);
	}
}

/* Where it is, for who finds it without an end. */
static const char *volatile phase = "start";
static volatile size_t fork_number;

static void tell(int signal)
{
	char text[256];
	int length = snprintf(text, sizeof(text),
			      "no end: %s, fork %zu, wanted %d, in purge %d, lock %u, limbo %u, used %zu, dirty %zu\n", phase,
			      fork_number, atomic_load(&fork_wanted), atomic_load(&in_purge),
			      (unsigned)*(volatile uint32_t *)(void *)&arena.lock, arena.limbo_count, arena.used, arena.free_dirty);

	(void)signal;
	check_exit(text, length, sizeof(text));
}

static void forks(void)
{
	pid_t child;
	int status;
	size_t i;

	for (i = 0; i < 20; i++) {
		fork_number = i;
		phase = "waiting for a purge";
		wait_for_purge();
		phase = "fork and its child";
		child = fork();
		if (child == 0)
			child_of_purge();
		dry_lock_release(&arena.lock);
		atomic_store(&fork_wanted, false);
		CHECK(child > 0);
		CHECK(waitpid(child, &status, 0) == child);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
}

static void threads(struct rng *rng)
{
	struct dry_arena_attr attr = { .reserve = 16384 * dry_port_page_size(), .page_size = 0 };
	pthread_t thread[THREADS + 2];
	size_t i;

	CHECK_EQ(dry_arena_init(&arena, &attr), 0);
	for (i = 0; i < THREADS + 2; i++)
		CHECK(pthread_create(&thread[i], NULL, i < THREADS ? worker : purger,
				     (void *)(uintptr_t)rng_next(rng)) == 0);
	forks();
	phase = "the end of threads";
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	atomic_store(&stop, true);
	for (; i < THREADS + 2; i++)
		pthread_join(thread[i], NULL);
	CHECK(dry_arena_check(&arena) == NULL);
	dry_arena_purge_all(&arena);
	CHECK(dry_arena_check(&arena) == NULL);
	CHECK_EQ(arena.used, 0);
	CHECK_EQ(arena.free_dirty, 0);
	dry_arena_fini(&arena);
}

/* In place of dry_port_yield(): who waits for a purge comes by. */
static atomic_bool waits, answered;
void __real_dry_port_yield(void);
void __wrap_dry_port_yield(void);

void __wrap_dry_port_yield(void)
{
	atomic_store(&waits, true);
	__real_dry_port_yield();
}

static void *take_half(void *page)
{
	*(struct dry_page **)page = dry_arena_alloc(&arena, arena.pages / 2, 1, 0);
	atomic_store(&answered, true);
	return NULL;
}

static void *give_up(void *given)
{
	*(bool *)given = dry_arena_give_up(&arena, 1);
	atomic_store(&answered, true);
	return NULL;
}

/* An arena of one half that is in use and one that is being purged (played here by the test): its first page. */
static struct dry_page *begin_purge(void)
{
	struct dry_arena_attr attr = { .reserve = (size_t)4 << 20, .page_size = 0 };
	struct dry_page *page;

	CHECK_EQ(dry_arena_init(&arena, &attr), 0);
	CHECK(dry_arena_alloc(&arena, arena.pages / 2, 1, 0) != NULL);
	page = dry_arena_alloc(&arena, arena.pages / 2, 1, 0);
	CHECK(page != NULL);
	dry_arena_free(&arena, page);
	dry_lock_acquire(&arena.lock);
	arena.limbo[0] = (struct dry_arena_block){ dry_arena_index_of(&arena, page), page->order };
	arena.limbo_pages = page->count;
	arena.limbo_count = 1;
	dry_buddy_unlink_locked(&arena, arena.limbo[0].index);
	dry_lock_release(&arena.lock);
	CHECK(dry_arena_check(&arena) == NULL);
	return page;
}

static void end_purge(struct dry_page *page)
{
	dry_lock_acquire(&arena.lock);
	arena.limbo_count = 0;
	arena.limbo_pages = 0;
	dry_buddy_put_locked(&arena, dry_arena_index_of(&arena, page), arena.pages / 2, true);
	dry_lock_release(&arena.lock);
}

/* Who asks meanwhile waits for it. */
static void asked_while_purging(void *(*ask)(void *answer), void *answer)
{
	struct dry_page *page = begin_purge();
	pthread_t thread;

	atomic_store(&waits, false);
	atomic_store(&answered, false);
	CHECK(pthread_create(&thread, NULL, ask, answer) == 0);
	while (!atomic_load(&waits) && !atomic_load(&answered))
		dry_port_sleep_ms(1);
	end_purge(page);
	pthread_join(thread, NULL);
	CHECK(dry_arena_check(&arena) == NULL);
}

static void full_while_purging(void)
{
	struct dry_page *got = NULL;
	bool given = false;

	asked_while_purging(take_half, &got);
	CHECK(got != NULL && dry_arena_alloc(&arena, 1, 1, 0) == NULL);
	dry_arena_fini(&arena);
	/* There was nothing to give up, but there may be now. */
	asked_while_purging(give_up, &given);
	CHECK(given && !dry_arena_give_up(&arena, 1));
	dry_arena_fini(&arena);
}

static size_t resident(const struct dry_arena_array *array)
{
	size_t unit = dry_port_page_size(), pages = array->committed / unit, i, bytes = 0;
	unsigned char *there = malloc(pages);

	CHECK(mincore(array->start, array->committed, there) == 0);
	for (i = 0; i < pages; i++)
		bytes += (there[i] & 1) != 0 ? unit : 0;
	free(there);
	return bytes;
}

static size_t metadata(void)
{
	return resident(&arena.desc_array) + resident(&arena.map_array) + resident(&arena.chunk_array);
}

/* 1 GiB in single pages, each with its map set: then all of it goes. */
static void metadata_goes_back(void)
{
	struct dry_arena_attr attr = { .reserve = (size_t)1 << 30, .page_size = 0 };
	struct dry_page **pages;
	size_t count, i;

	CHECK_EQ(dry_arena_init(&arena, &attr), 0);
	count = arena.pages;
	pages = malloc(count * sizeof(struct dry_page *));
	CHECK(metadata() < 4 * 65536);
	for (i = 0; i < count; i++) {
		pages[i] = dry_arena_alloc(&arena, 1, 1, 0);
		CHECK(pages[i] != NULL);
		dry_arena_set_map(&arena, pages[i], 1);
	}
	CHECK(dry_arena_alloc(&arena, 1, 1, 0) == NULL);
	CHECK(metadata() >= count * sizeof(struct dry_page));
	for (i = 0; i < count; i++)
		dry_arena_free(&arena, pages[i]);
	CHECK_EQ(dry_arena_purge_all(&arena), count);
	printf("metadata resident after all was freed: %zu\n", metadata());
	CHECK(metadata() <= 100 << 10);
	CHECK_EQ(arena.retired, 256);
	CHECK(dry_arena_check(&arena) == NULL);
	/* and it is usable afterwards */
	for (i = 0; i < count; i++)
		CHECK(dry_arena_alloc(&arena, 1, 1, 0) != NULL);
	CHECK(dry_arena_check(&arena) == NULL);
	dry_arena_fini(&arena);
	free(pages);
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };

	signal(SIGALRM, tell);
	alarm(240);
	threads(&rng);
	phase = "full while purging";
	full_while_purging();
	phase = "metadata goes back";
	metadata_goes_back();
	return 0;
}
