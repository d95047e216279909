/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Options while the process runs. */
#include <drystone/process.h>
#include <string.h>

#include "base/error.h"
#include "heap/heap.h"
#include "malloc/options.h"
#include "page/budget.h"

/* As the options say now. Relaxed: another thread may set them, too. */
static int guard(void)
{
	bool on = __atomic_load_n(&dry_option_guard, __ATOMIC_RELAXED);

	return dry_guard(on ? __atomic_load_n(&dry_option_guard_rate, __ATOMIC_RELAXED) : 0);
}

DRY_EXPORT int dry_ctl(const char *name, const char *value)
{
	int rc;

	if (name == NULL || value == NULL) /* as of getenv() */
		return -DRY_EINVAL;
	rc = dry_heap_get(NULL) != NULL ? dry_options_set(name, value) : -DRY_ENOMEM;
	/* Also where the option had that value: dry_guard() may have begun or ended it since, or could not do it. */
	return rc == 0 && strlen(name) >= 5 && memcmp(name, "guard", 5) == 0 ? guard() : rc;
}

DRY_EXPORT void dry_on_limit(bool (*fn)(void *arg, size_t bytes), void *arg)
{
	dry_heap_on_limit(fn, arg);
}

DRY_EXPORT size_t dry_process_bytes(void)
{
	return dry_budget_used();
}
