/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "malloc/metrics.h"

#include <string.h>

#include "base/fatal.h"
#include "malloc/options.h"
#include "port/contract.h"
#include "port/save.h"
#include "stats/metrics.h"

static struct dry_lock writing = DRY_LOCK_INIT(DRY_RANK_METRICS);
static bool to_file;  /* written at start */
static bool finished; /* under `writing`: the process may end in the middle of what is begun now */

/* node_exporter reads files of this name, in the older format. */
static bool is_older(void)
{
	static const char end[] = ".prom";
	size_t length = strlen(dry_option_metrics);

	return length >= sizeof(end) && memcmp(dry_option_metrics + length - (sizeof(end) - 1), end, sizeof(end)) == 0;
}

static bool has_number(const char *path)
{
	while ((path = strchr(path, '%')) != NULL)
		if (*++path == 'p')
			return true;
	return false;
}

static void write_file(bool last)
{
	static bool said;
	bool done;

	dry_lock_acquire(&writing);
	done = finished || dry_port_save(dry_option_metrics, 0666, is_older() ? dry_metrics_write_older : dry_metrics_write);
	if (!done && !said) {
		said = true;
		dry_warn("metrics: cannot be written: %s", dry_option_metrics);
	}
	finished |= last;
	dry_lock_release(&writing);
}

#define LOOK 1000 /* ms between two looks whether the program is still there */

static void keep_file(void)
{
	uint64_t left, due, now;

	for (;;) {
		if (dry_port_confined())
			dry_port_stay();
		write_file(false);
		due = dry_port_clock_ms() + dry_option_metrics_ms;
		while ((now = dry_port_clock_ms()) < due && !dry_port_confined()) {
			left = due - now;
			dry_port_sleep_ms(left < LOOK ? (unsigned)left : LOOK);
			dry_port_thread_leave();
		}
	}
}

static void serve(void)
{
	for (;;) {
		dry_port_serve(dry_metrics_write, LOOK);
		dry_port_thread_leave();
	}
}

void dry_metrics_start(void)
{
	static const char prefix[] = "unix:";
	bool at_socket = memcmp(dry_option_metrics, prefix, sizeof(prefix) - 1) == 0;

	if (dry_option_metrics[0] == '\0')
		return;
	if (!at_socket && has_number(dry_option_metrics))
		dry_metrics_tell_apart();
	if (at_socket && !dry_port_listen(dry_option_metrics + sizeof(prefix) - 1))
		dry_warn("metrics: no such socket can be made: %s", dry_option_metrics);
	else if (dry_port_thread_start(at_socket ? serve : keep_file) != 0)
		dry_warn("metrics: no thread is to be had");
	else
		to_file = !at_socket;
}

void dry_metrics_forked(void)
{
	to_file = false;
	dry_port_listen_forked();
}

void dry_metrics_finish(bool may_wait)
{
	if (may_wait && to_file)
		write_file(true);
	dry_port_unlisten();
}
