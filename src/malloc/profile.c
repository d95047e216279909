/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "malloc/profile.h"

#include <drystone/drystone.h>
#include <string.h>

#include "base/annotate.h"
#include "base/error.h"
#include "base/fatal.h"
#include "core/countdown.h"
#include "core/fast.h"
#include "core/reap.h"
#include "debug/fail.h"
#include "debug/fence.h"
#include "debug/hooks.h"
#include "debug/live.h"
#include "debug/pool.h"
#include "debug/secure.h"
#include "debug/select.h"
#include "guard/empty.h"
#include "guard/guard.h"
#include "malloc/general.h"
#include "malloc/kind.h"
#include "malloc/options.h"
#include "malloc/plain.h"
#include "malloc/policy.h"
#include "malloc/sample.h"
#include "malloc/size_class.h"
#include "malloc/starter.h"
#include "malloc/turns.h"
#include "page/budget.h"
#include "port/save.h"
#include "stats/sites.h"

#define FIRST      32u /* allocations of a process that are guarded under secure:1 */
#define FIRST_SIZE 4u  /* and of each size */
#define GUARDS_SHARE 128u /* of the memory that the process may have, that much for guarded blocks */
#define APART      (16u << 10) /* bytes; bigger ones all are: no canary finds a write that jumps from one into the next */
#define MIB        ((size_t)1 << 20)
#define BIGGEST    "kmalloc-32768" /* the name that debug: has for those of no class as well */
#define WATCHED    (DRY_CACHE_RED_ZONE | DRY_CACHE_POISON | DRY_CACHE_STORE_USER | DRY_CACHE_QUARANTINE)

/* Written at start: secure:1; blocks of no bytes cannot be accessed; those of no class are guarded. */
static bool secure, empties, big;
static bool reports_faults; /* written at start */
static bool leaks; /* written at start: all blocks are noted, and the lost ones listed at the end */
static _Atomic uint32_t first, first_of[DRY_CLASS_COUNT];

/* ---- which are guarded ----------------------------------------------------------- */

/* Each takes a page at least: a small machine, or control group, has better use for them. */
static uint32_t guards_for(size_t memory)
{
	size_t count = memory / GUARDS_SHARE / dry_port_page_size();

	return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

/* The region for guarded blocks, with the first of them: few processes need one. */
static bool make_guards(void)
{
	struct dry_guard_attr attr = { .region = 1024 * MIB, .live = 64, .held = 64 };
	size_t room;

	if (DRY_LIKELY(dry_guard_ready()))
		return true;
	room = dry_port_address_room();
	if (dry_option_guard)
		attr.live = attr.held = 1024;
	if (big)
		attr = (struct dry_guard_attr){ 16384 * MIB, 16384, 2048 };
	dry_guard_fit(guards_for(dry_policy_memory()));
	if (room != SIZE_MAX && attr.region > room / 8)
		attr.region = room / 8;
	return dry_guard_init(&attr);
}

/* Add one to a count that stops at max; whether it had not got there. relaxed: one more or less does not matter. */
static bool count_to(_Atomic uint32_t *count, uint32_t max)
{
	return atomic_load_explicit(count, memory_order_relaxed) < max &&
	       atomic_fetch_add_explicit(count, 1, memory_order_relaxed) < max;
}

/* What no slot can hold; under secure:1 also what a program does only a few times: there its errors hide. */
static bool is_chosen(size_t size, unsigned class)
{
	if (class == DRY_CLASS_COUNT)
		return big;
	return secure && (dry_class_size(class) > APART || size == 0 || count_to(&first, FIRST) ||
			  count_to(&first_of[class], FIRST_SIZE));
}

/*
 * Of those that all are to be guarded: where the limit is in the way of one, what waits to be used again goes back for it. Not
 * more, as for those that fail else: the program may have that in its place.
 */
static DRY_NOINLINE bool make_room(size_t size)
{
	struct dry_heap *heap = &dry_main_heap;

	if (!big || size <= APART || dry_budget_has_room(size) || !dry_lock_none_held())
		return false;
	dry_extent_decay(&heap->extents, 0);
	if (!dry_budget_has_room(size))
		dry_arena_purge_all(dry_heap_arena(heap));
	return dry_budget_has_room(size);
}

/* A frame less on a way that is long (docs/design/stack.md). */
DRY_FAST void *allocate_guarded(size_t size, size_t align)
{
	void *block = make_guards() ? dry_guard_alloc(size, align) : NULL;

	return block == NULL && make_room(size) ? dry_guard_alloc(size, align) : block;
}

static void *allocate(size_t size, size_t align, bool zero)
{
	unsigned class = dry_general_class(&dry_main_heap, size, align);
	void *block;

	if (DRY_UNLIKELY(dry_starter_is_below()))
		return dry_starter_take(size, align, zero);
	enum dry_turn turn = is_chosen(size, class) ? DRY_TURN_GUARD : dry_turns_take(class, size);

	block = turn == DRY_TURN_GUARD ? allocate_guarded(size, align) : NULL;
	if (block != NULL)
		return block; /* it is zero */
	if (size == 0 && empties)
		block = dry_empty_alloc(align);
	if (block == NULL && dry_plain_due(size))
		block = dry_plain_alloc(size, align);
	if (block == NULL)
		return secure ? NULL : dry_sample_allocate(size, align, zero, turn == DRY_TURN_PROFILE);
	return zero ? memset(block, 0, size) : block;
}

static void *object(struct dry_cache *cache)
{
	struct dry_cache *root = cache->root;
	enum dry_turn turn = leaks ? DRY_TURN_NONE : dry_turns_take_object(root);
	void *given = dry_fast_alloc(cache), *block = NULL;

	if (given == NULL && turn != DRY_TURN_NONE)
		(void)dry_countdown_pass(root);
	if (given == NULL)
		given = dry_heap_alloc_slow(cache);
	if (given != NULL && turn == DRY_TURN_GUARD && make_guards())
		block = dry_guard_alloc_instead(cache, given);
	else if (given != NULL && turn == DRY_TURN_PROFILE)
		block = dry_sample_instead(cache, given);
	if (block == NULL)
		return dry_secure_give(root, given, cache->object_size);
	if (root->ctor != NULL)
		root->ctor(block, root->arg);
	return block;
}

static void *address(void *pointer)
{
	return dry_secure_admits(pointer) ? dry_tags_strip(pointer) : NULL;
}

static bool contains(const void *ptr)
{
	return dry_guard_contains(ptr) || dry_empty_contains(ptr) || dry_sample_contains(ptr);
}

static void free_block(struct dry_cache *cache, void *block)
{
	if (dry_guard_contains(block))
		dry_guard_free(block, cache);
	else if (!dry_empty_contains(block))
		dry_sample_free(block, cache);
	else if (cache == NULL)
		dry_empty_check(block, true);
	else
		dry_fatal(DRY_FATAL_WRONG_CACHE, block, cache->name, "of no cache");
}

static size_t size_of(void *block, bool freeing)
{
	if (dry_guard_contains(block))
		return dry_guard_size(block, freeing);
	if (dry_empty_contains(block))
		return freeing || dry_empty_check(block, false) ? 0 : SIZE_MAX; /* its free says if it is none */
	return dry_sample_size(block);
}

static enum dry_kind kind_of(void *block, enum dry_kind to)
{
	return dry_guard_contains(block) ? dry_guard_kind(block, to) : DRY_KIND_UNKNOWN;
}

/* Blocks that were guarded have left places that nothing else can use. */
static void *last(size_t size, size_t align)
{
	return secure && make_guards() ? dry_guard_alloc(size, align) : NULL;
}

/* What is guarded for its size; of others the end is to be where it faults. */
static bool resize(void *block, size_t size)
{
	return secure && size > APART && dry_guard_contains(block) && dry_guard_resize(block, size);
}

static const struct dry_secondary guards = { allocate, last, contains, object, address, free_block, size_of, resize, kind_of };

static void take_part(void)
{
	atomic_store_explicit(&dry_main_heap.secondary, &guards, memory_order_relaxed);
}

static bool sample(size_t mean)
{
	if (mean != 0)
		take_part();
	return dry_turns_set(DRY_TURN_GUARD, mean);
}

/* No arrays: what comes from one would not be noted. And no thread of ours, which could not be stopped at the end. */
static bool start_leaks(void)
{
	dry_option_background = false;
	dry_heaps_debug(dry_noted_hooks());
	leaks = dry_sample_all();
	if (leaks)
		take_part();
	return leaks;
}

/* ---- start ------------------------------------------------------------------- */

/* All allocations go the way that somebody else has for them. */
static bool others_look(void)
{
	return dry_annotate != NULL || dry_debug_selects() || dry_fail_selects();
}

/* secure:1 takes what it needs for itself from what the process may have. */
static void fit(void)
{
	size_t memory = dry_policy_memory();

	dry_fences_fit(memory);
	dry_pools_fit(memory);
	dry_plain_fit(memory);
	dry_guard_fit(guards_for(memory));
}

void dry_profile_follow(void)
{
	if ((secure || dry_policy_is_share()) && dry_policy_follow() && secure)
		fit();
}

/* What is in no slot with zones and an owner, where those of the biggest have them, is guarded. */
static bool start_debug(void)
{
	if (!dry_debug_selects())
		return false;
	dry_kinds_keep();
	empties = big = dry_annotate == NULL && (dry_debug_wanted(BIGGEST) & WATCHED) != 0;
	if (big) {
		take_part();
		reports_faults = true;
	}
	return true;
}

static void start_check(void)
{
	if (dry_live_init(&dry_main_heap.caches))
		dry_heaps_debug(&dry_hooks_check);
	else
		dry_warn("check:1: no address space for it");
}

static void start_secure(void)
{
	bool notes;

	dry_kinds_keep();
	dry_heaps_debug(&dry_hooks_secure);
	fit();
	/* Where address space is short, every page is for blocks. */
	if (dry_port_address_room() == SIZE_MAX)
		dry_main_heap.caches.backing.pages = &dry_fences;
	notes = dry_secure_init(&dry_main_heap.caches);
	if (!make_guards() || !notes)
		dry_warn("secure:1: no address space for all of it");
}

bool dry_profile_start(void)
{
	if (dry_fail_selects()) {
		/* Every allocation has to come by, and under the name that its cache always has. */
		dry_main_heap.caches.hooks = &dry_hooks_failing;
		return true;
	}
	/* A memory checker or a debugging cache sees more. */
	if (dry_annotate != NULL || dry_debug_selects())
		return start_debug();
	secure = big = dry_option_secure;
	if (dry_option_leaks_file[0] != '\0' && !secure && start_leaks())
		return true;
	empties = secure || dry_option_check;
	if (empties)
		take_part();
	if (secure)
		start_secure();
	else if (dry_option_check)
		start_check();
	if (secure || dry_option_guard) {
		reports_faults = true;
		(void)sample(dry_option_guard_rate); /* nobody else has an array yet */
		dry_option_guard = true;
	}
	return empties;
}

static int guard(size_t mean)
{
	bool made = dry_heap_get(NULL) != NULL;

	if (leaks || others_look())
		return mean != 0 ? -DRY_EOPNOTSUPP : 0;
	if (mean != 0 && (!made || !make_guards()))
		return -DRY_ENOMEM;
	if (mean != 0)
		dry_guard_report_faults();
	return !made || sample(mean) ? 0 : -DRY_EAGAIN;
}

DRY_EXPORT int dry_guard(size_t mean)
{
	int rc = guard(mean);

	/* What is the case, whoever asked for it: dry_ctl() goes by it. Relaxed, as there. */
	__atomic_store_n(&dry_option_guard, mean != 0 && rc == 0, __ATOMIC_RELAXED);
	return rc;
}

/* ---- heap profiles -------------------------------------------------------------------------- */

static int profile(size_t mean)
{
	if (secure || leaks || others_look())
		return -DRY_EOPNOTSUPP;
	if (!dry_sample_set(mean))
		return -DRY_ENOMEM;
	if (mean != 0)
		take_part();
	if (dry_turns_set(DRY_TURN_PROFILE, mean != 0 ? (size_t)dry_profile.mean : 0))
		return 0;
	(void)dry_sample_set(0);
	return -DRY_EAGAIN;
}

/* By a signal; in the order in which others ask (<drystone/inspect.h>). */
static void ask_to_write(void)
{
	size_t *limit = (size_t *)(uintptr_t)__atomic_load_n(&dry_profile.limit, __ATOMIC_ACQUIRE);

	if (__atomic_load_n(&dry_profile.mean, __ATOMIC_RELAXED) == 0)
		return; /* there is none */
	if (limit != NULL)
		__atomic_store_n(limit, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&dry_profile.request, DRY_INSPECT_PROFILE_WRITE, __ATOMIC_RELEASE);
}

static void write_profile(void)
{
	if (dry_option_profile_file[0] != '\0' && !dry_sample_write(dry_option_profile_file))
		dry_warn("profile_file: cannot be written: %s", dry_option_profile_file);
}

/* What keeps protection from being; NULL: nothing. */
static const char *why_off(void)
{
	if (dry_fail_selects())
		return "fail:";
	if (dry_debug_selects())
		return "debug:";
	if (dry_annotate != NULL)
		return "a memory checker";
	return leaks ? "leaks_file:" : NULL;
}

/* What an option asks for that another one keeps from being, or that has no effect without one. */
static void say_what_is_off(void)
{
	const char *why = why_off();

	if (why != NULL && dry_option_check)
		dry_warn("check is off, because of %s", why);
	if (why != NULL && dry_option_guard)
		dry_warn("guard is off, because of %s", why);
	if (why != NULL && dry_option_secure)
		dry_warn("secure is off, because of %s", why);
	if (dry_option_leaks && !dry_debug_asks_users(false))
		dry_warn("leaks: without debug:U only caches that the program itself debugs are listed");
	if (dry_option_leaks_file[0] != '\0' && !leaks)
		dry_warn("leaks_file: not together with debug, fail, secure or a memory checker, and not without memory");
	if (dry_option_profile_file[0] != '\0' && dry_option_profile == 0)
		dry_warn("profile_file: nothing is written without profile:");
}

/* Whether there is a profile or not: by default the signal would end the process. */
static void start_signal(void)
{
	if (!dry_port_on_signal((int)dry_option_profile_signal, ask_to_write))
		dry_warn("profile_signal: no program can handle signal %u", dry_option_profile_signal);
	else if (dry_option_profile == 0)
		dry_warn("profile_signal: nothing is written without profile:");
}

void dry_profile_begin(void)
{
	/* not before: constructors of other libraries would put their handlers in place of ours */
	if (reports_faults)
		dry_guard_report_faults();
	say_what_is_off();
	if (dry_option_profile_signal != 0)
		start_signal();
	if (dry_option_profile != 0 && profile(dry_option_profile) != 0) {
		dry_warn("profile: not together with debug, fail, secure, leaks_file or a memory checker, and not without memory");
		dry_option_profile_file[0] = '\0'; /* nobody takes an empty one for an answer */
	}
}

void dry_profile_obey(void)
{
	/* acquire: what was set to 0 for it is so before it is opened again */
	uint32_t request = __atomic_exchange_n(&dry_profile.request, 0, __ATOMIC_ACQUIRE);

	if (request == 0) /* another thread was first */
		return;
	dry_general_reopen();
	if (request == DRY_INSPECT_PROFILE_WRITE)
		write_profile();
	else if (dry_main_heap.ready)
		profile(request == DRY_INSPECT_PROFILE_OFF ? 0 : request);
}

DRY_EXPORT int dry_profile_heap(size_t mean)
{
	return dry_heap_get(NULL) != NULL ? profile(mean) : -DRY_ENOMEM;
}

DRY_EXPORT int dry_profile_write(const char *path)
{
	if (path == NULL) /* as of getenv() */
		return -DRY_EINVAL;
	return dry_sample_write(path) ? 0 : -DRY_EIO;
}

/* ---- end and fork ------------------------------------------------------------------------ */

static void check_heap(struct dry_heap *heap)
{
	if (secure && heap->caches.shadows != NULL)
		dry_secure_check(&heap->caches);
	/* Frees that are still in array caches, or in quarantine, have not been looked at. */
	if (dry_heap_is_quiet(heap))
		dry_caches_settle(&heap->caches);
}

/* Those of the program's, too, but where it brought the memory: that may be gone. */
static void check_heaps(void)
{
	if (!dry_lock_try(&dry_heaps_lock))
		return;
	for (struct dry_heap *heap = dry_heaps; heap != NULL; heap = heap->next)
		if (dry_heap_arena(heap)->owns_memory && heap->extents.source.reserve == NULL)
			check_heap(heap);
	dry_lock_release(&dry_heaps_lock);
}

void dry_profile_finish(bool may_wait)
{
	if (leaks && may_wait && !dry_sample_write_lost(dry_option_leaks_file))
		dry_warn("leaks_file: no search for lost blocks can be made, or not written: %s", dry_option_leaks_file);
	else if (dry_option_profile != 0)
		write_profile();
	if (!dry_option_exit_check || !dry_main_heap.ready)
		return;
	dry_guard_check_all();
	check_heaps();
}

void dry_profile_before_fork(void)
{
	dry_guard_lock();
	dry_sites_lock();
}

void dry_profile_after_fork(bool in_child)
{
	/* The other threads' registers are gone: what only they led to would be taken for lost. */
	if (in_child)
		leaks = false;
	dry_sites_unlock(in_child);
	dry_guard_unlock(in_child);
}
