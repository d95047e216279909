/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "malloc/print.h"

#include <drystone/drystone.h>
#include <stddef.h>

#include "base/fatal.h"
#include "base/fmt.h"
#include "debug/say.h"
#include "debug/select.h"
#include "heap/heap.h"

void dry_print_stats(void)
{
	struct dry_heap_stats stats;
	struct dry_totals totals;
	char line[192];
	uint64_t hundredths;

	dry_heap_slabinfo(NULL, dry_debug_write, NULL);
	if (dry_heap_stats(NULL, &stats) != 0)
		return;
	totals = dry_totals_of(&stats);
	size_t used = totals.small + totals.big;
	size_t length = dry_format(line, sizeof(line),
				   "# drystone: bytes in use %zu (%zu of them big blocks) free %zu in all %zu\n",
				   used, totals.big, totals.free, used + totals.free);
	dry_port_write(line, length);
	hundredths = stats.allocs != 0 ? (stats.allocs - stats.slow_allocs) * 10000 / stats.allocs : 10000;
	length = dry_format(line, sizeof(line), "# drystone: allocs %lu slow_allocs %lu slow_frees %lu hits %lu.%02lu%%\n",
			    (unsigned long)stats.allocs, (unsigned long)stats.slow_allocs, (unsigned long)stats.slow_frees,
			    (unsigned long)(hundredths / 100), (unsigned long)(hundredths % 100));
	dry_port_write(line, length);
}

void dry_print_leaks(void)
{
	size_t objects, bytes;

	if (dry_debug_asks_users(false) && !dry_debug_asks_users(true))
		dry_warn("leaks: there was no cache of the name that debug: has with the letter U");
	dry_heap_owners(NULL, NULL, NULL, &objects, &bytes);
	if (objects == 0)
		return;
	dry_warn("%zu objects, %zu bytes still allocated at exit", objects, bytes);
	dry_heap_owners(NULL, dry_debug_write, NULL, NULL, NULL);
}
