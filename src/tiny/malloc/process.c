/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The libraries to preload: what happens at load, fork and exit of a process. */
#include <string.h>

#include "base/fatal.h"
#include "base/fmt.h"
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

static bool is(const char *from, const char *end, const char *option)
{
	return strlen(option) == (size_t)(end - from) && memcmp(from, option, (size_t)(end - from)) == 0;
}

/* Of DRYSTONE_CONF two have a meaning here. */
static void set(const char *from, const char *end)
{
	bool on = end[-1] == '1';
	char text[64];
	size_t n = (size_t)(end - from) < sizeof(text) ? (size_t)(end - from) : sizeof(text) - 1;

	if (is(from, end, on ? "abort:1" : "abort:0")) {
		dry_fatal_aborts = on;
	} else if (is(from, end, on ? "stats:1" : "stats:0")) {
		print_at_exit = on;
	} else {
		memcpy(text, from, n);
		text[n] = '\0';
		dry_warn("DRYSTONE_CONF: without effect here: %s (abort and stats have one, with 0 or 1)", text);
	}
}

static DRY_CONSTRUCTOR void loaded(void)
{
	const char *conf = dry_port_getenv("DRYSTONE_CONF"), *end;

	for (; conf != NULL && *conf != '\0'; conf = *end == ',' ? end + 1 : end) {
		end = strchr(conf, ',');
		if (end == NULL)
			end = conf + strlen(conf);
		if (end != conf)
			set(conf, end);
	}
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
	struct dry_heap_stats stats;
	char line[128];

	dry_heap_slabinfo(NULL, to_stderr, NULL);
	if (dry_heap_stats(NULL, &stats) == 0)
		dry_port_write(line, dry_format(line, sizeof(line), "# drystone: bytes in pages in use %zu reserved %zu\n",
						stats.in_use, stats.reserved));
}

static DRY_DESTRUCTOR void unloaded(void)
{
	if (print_at_exit && dry_lock_none_held())
		dry_print_stats();
	else if (print_at_exit)
		dry_warn("exit() within an allocation, by a signal handler: no figures");
}
