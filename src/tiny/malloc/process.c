/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The libraries to preload: what happens at load, fork and exit of a process. */
#include <string.h>

#include "base/fatal.h"
#include "tiny/tiny.h"

/* A forked child has the parent's heap, and nobody may have been inside of it. */
static void before_fork(void)
{
	dry_tiny_lock();
}

static void after_fork_parent(void)
{
	dry_tiny_unlock();
}

static void after_fork_child(bool prepared)
{
	dry_port_forked();
	if (prepared)
		dry_lock_reinit(&dry_tiny_the_lock);
}

/* For all of a program, of which one block may be a quarter. */
const size_t dry_tiny_space = (size_t)2 << 30, dry_tiny_page = 16384;

static bool print_at_exit;

/* Of DRYSTONE_CONF these two have a meaning here. */
static bool has(const char *conf, const char *option)
{
	size_t length = strlen(option);

	while (conf != NULL && strncmp(conf, option, length) != 0) {
		conf = strchr(conf, ',');
		conf += conf != NULL;
	}
	return conf != NULL && (conf[length] == ',' || conf[length] == '\0');
}

static DRY_CONSTRUCTOR void loaded(void)
{
	const char *conf = dry_port_getenv("DRYSTONE_CONF");

	dry_fatal_aborts = !has(conf, "abort:0");
	print_at_exit = has(conf, "stats:1");
	if (print_at_exit)
		dry_port_keep_stderr();
	dry_port_at_fork(before_fork, after_fork_parent, after_fork_child);
}

static void to_stderr(void *arg, const char *text, size_t bytes)
{
	(void)arg;
	dry_port_write(text, bytes);
}

/* See malloc/print.h. */
void dry_print_stats(void);

void dry_print_stats(void)
{
	dry_heap_slabinfo(NULL, to_stderr, NULL);
}

static DRY_DESTRUCTOR void unloaded(void)
{
	if (print_at_exit && dry_lock_none_held())
		dry_print_stats();
	else if (print_at_exit)
		dry_warn("exit() within an allocation, by a signal handler: no figures");
}
