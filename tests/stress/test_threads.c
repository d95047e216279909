/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Threads over several caches, cross-thread frees, thread churn; with 1 to 8 nodes and other page sizes. */
#include <drystone/drystone.h>

#include "../support/mix.h"

int main(int argc, char **argv)
{
	static struct mix mix;
	uint64_t seed = test_seed(argc, argv);

	for (unsigned threads = 2; threads <= 8; threads += 2) {
		for (unsigned nodes = 1; nodes <= 8; nodes *= 4) {
			struct dry_heap_attr attr = { .name = "stress", .nodes = nodes };

			if (threads == 4)
				attr.page_size = 65536;
			mix_start(&mix, &attr, threads, seed + threads * 10 + nodes);
			usleep((useconds_t)test_scaled(900000));
			mix_finish(&mix);
		}
	}
	CHECK_EQ(dry_heap_check(NULL), 0);
	return 0;
}
