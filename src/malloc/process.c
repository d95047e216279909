/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What happens around a process's life: load, fork, exit. */
#include <stdatomic.h>
#include <stddef.h>

#include <drystone/process.h>

#include "base/compiler.h"
#include "heap/heap.h"
#include "debug/canary.h"
#include "debug/fail.h"
#include "debug/hooks.h"
#include "debug/object.h"
#include "debug/say.h"
#include "malloc/background.h"
#include "malloc/classes.h"
#include "malloc/metrics.h"
#include "malloc/options.h"
#include "malloc/overrides.h"
#include "malloc/print.h"
#include "malloc/process.h"
#include "malloc/profile.h"
#include "malloc/sample.h"
#include "port/annotate.h"
#include "port/guard.h"

static void before_fork(void)
{
	dry_heaps_lock_all();
	dry_profile_before_fork();
}

static void after_fork_parent(void)
{
	dry_profile_after_fork(false);
	dry_heaps_unlock_all(false);
}

static void after_fork_child(bool prepared)
{
	dry_port_forked();
	if (prepared) {
		dry_profile_after_fork(true);
		dry_heaps_unlock_all(true);
	}
	dry_debug_say_forked();
	dry_sample_forked();
	dry_owners_forked();
	dry_secret_forked(dry_port_forks());
	dry_heaps_inherit();
	dry_background_forked();
	dry_metrics_forked();
}

extern const char dry_serves_malloc __attribute__((weak));

/*
 * A copy that leaves malloc() alone, linked into a program or plugin, beside one that serves it: who asks for profiles, leaks and
 * figures means that one, whose files this one's would replace.
 */
static bool stands_beside(void)
{
	return &dry_overrides == NULL && &dry_serves_malloc != NULL;
}

static void begin(void)
{
	dry_fatal_explain = dry_debug_say_call;
	dry_options_parse(dry_port_getenv("DRYSTONE_CONF"));
	if (stands_beside())
		dry_options_write_nothing();
	if (dry_option_stats || dry_option_leaks)
		dry_port_keep_stderr();
	if (dry_option_annotate && dry_port_annotations != NULL)
		dry_annotate = dry_port_annotations();
	if (dry_heap_get(NULL) == NULL)
		return;
	atomic_store_explicit(&dry_main_heap.keeper, &dry_background, memory_order_relaxed);
	dry_heaps_debug(&dry_hooks_usual);
	/* Others may have allocated before this ran; from now on it is from debugged caches. */
	if (dry_profile_start())
		dry_general_forget(&dry_main_heap);
}

/* Whether the caller is the first. */
static bool is_first(_Atomic bool *done)
{
	return !atomic_load_explicit(done, memory_order_relaxed) && !atomic_exchange_explicit(done, true, memory_order_relaxed);
}

static _Atomic bool begun;

static void begin_once(void)
{
	if (is_first(&begun))
		begin();
}

static void handle_forks(void)
{
	static _Atomic bool handled;

	if (is_first(&handled))
		dry_port_at_fork(before_fork, after_fork_parent, after_fork_child);
}

void dry_process_begin(void)
{
	if (DRY_LIKELY(atomic_load_explicit(&begun, memory_order_relaxed)))
		return;
	handle_forks();
	if (dry_port_has_environment())
		begin_once();
}

static DRY_CONSTRUCTOR void loaded(void)
{
	begin_once();
	if (dry_heap_get(NULL) == NULL)
		return;
	handle_forks();
	dry_profile_begin();
	dry_metrics_start();
}

static DRY_DESTRUCTOR void unloaded(void)
{
	bool may_wait = dry_lock_none_held(); /* else exit() was called by a signal handler, in the middle of a call of ours */
	bool asked = dry_option_leaks || dry_option_stats || dry_option_metrics[0] != '\0' || dry_option_leaks_file[0] != '\0';

	if (asked && !may_wait)
		dry_warn("exit() within an allocation, by a signal handler: no figures, and no search for leaks");
	if (may_wait && dry_option_leaks)
		dry_print_leaks();
	/* beside another copy only of what the program made in this one */
	if (may_wait && dry_option_stats && (!stands_beside() || dry_main_heap.caches.first != NULL))
		dry_print_stats();
	dry_metrics_finish(may_wait);
	if (!stands_beside())
		dry_fail_finish();
	dry_port_ending();
	dry_profile_finish(may_wait);
}

DRY_EXPORT const char *dry_version(void)
{
#define TEXT(x)  #x
#define VALUE(x) TEXT(x)
	return VALUE(DRY_VERSION_MAJOR) "." VALUE(DRY_VERSION_MINOR) "." VALUE(DRY_VERSION_PATCH);
}
