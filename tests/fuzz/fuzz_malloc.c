/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * DRY_TEST_NO_SANITIZER: it needs the malloc override.
 *
 * The malloc family as a stream of calls: each entry point of libc and of C++, each size and
 * alignment, also such that cannot be; blocks change hands between entry points as the
 * standards allow. Every block carries a pattern, its usable size never changes, errno is what
 * the manual says, requests for memory may be refused, and the process may fork.
 */
#include <string.h>

#include "base/fatal.h"
#include "faults.h"
#include "malloc/options.h"
#include "malloc_ops.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	unsigned first;

	dry_fatal_aborts = false;
	malloc_begin();
	first = input_8(&in);
	dry_option_background = first == 1 || first == 2;
	faults.no_thread = first == 2;
	malloc_stream(in);
	memset(&faults, 0, sizeof(faults));
	return 0;
}
