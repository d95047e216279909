/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Options while the process runs. */
#include <drystone/process.h>

#include "base/error.h"
#include "heap/heap.h"
#include "malloc/options.h"
#include "page/budget.h"

DRY_EXPORT int dry_ctl(const char *name, const char *value)
{
	bool guard = dry_option_guard;
	unsigned rate = dry_option_guard_rate;
	int rc;

	if (name == NULL || value == NULL) /* as of getenv() */
		return -DRY_EINVAL;
	rc = dry_heap_get(NULL) != NULL ? dry_options_set(name, value) : -DRY_ENOMEM;
	if (rc == 0 && (guard != dry_option_guard || rate != dry_option_guard_rate))
		rc = dry_guard(dry_option_guard ? dry_option_guard_rate : 0);
	return rc;
}

DRY_EXPORT void dry_on_limit(bool (*fn)(void *arg, size_t bytes), void *arg)
{
	dry_heap_on_limit(fn, arg);
}

DRY_EXPORT size_t dry_process_bytes(void)
{
	return dry_budget_used();
}
