/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Which pages of a process are in memory: /proc/PID/pagemap, 8 bytes a page, the top bit of which says so (proc(5)). */
#include "reader.h"

#include <string.h>
#include <unistd.h>

#define PIECE     4096              /* pages in one read */
#define MAX_PAGES ((uint64_t)1 << 26) /* in all, or it is not worth the time */

uint64_t bits_in(const uint64_t *bits, uint64_t first, uint64_t count)
{
	uint64_t sum = 0;

	while (count != 0) {
		uint64_t from = first % 64, n = 64 - from < count ? 64 - from : count;
		uint64_t word = bits[first / 64] >> from;

		sum += (uint64_t)__builtin_popcountll(n == 64 ? word : word & (((uint64_t)1 << n) - 1));
		first += n;
		count -= n;
	}
	return sum;
}

uint64_t reader_resident(struct reader *r, uint64_t start, uint64_t bytes, uint64_t *bits)
{
	uint64_t entry[PIECE], page = (uint64_t)sysconf(_SC_PAGESIZE), first = start / page, sum = 0;
	uint64_t pages = (start % page + bytes + page - 1) / page;

	r->looked_at += pages;
	for (uint64_t at = 0; at < pages && r->pagemap >= 0; at += PIECE) {
		uint64_t n = pages - at < PIECE ? pages - at : PIECE;

		if (r->looked_at > MAX_PAGES || first + pages > (uint64_t)INT64_MAX / 8 ||
		    pread(r->pagemap, entry, n * 8, (off_t)((first + at) * 8)) != (ssize_t)(n * 8)) {
			close(r->pagemap);
			r->pagemap = -1;
			return 0;
		}
		for (uint64_t i = 0; i < n; i++) {
			uint64_t there = entry[i] >> 63;

			sum += there;
			if (bits != NULL)
				bits[(at + i) / 64] |= there << (at + i) % 64;
		}
	}
	return sum * page;
}
