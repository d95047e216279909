/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "debug/secure_object.h"

#include "base/bits.h"
#include "base/fatal.h"
#include "base/fmt.h"
#include "debug/object.h"

bool dry_secure_zero = true;

void dry_secure_report_at(enum dry_fatal_code code, const struct dry_cache *cache, const void *object, const char *bad,
			  size_t size)
{
	long at = bad - (const char *)object;
	char detail[96];

	dry_format(detail, sizeof(detail), "%zu bytes were asked for, byte %s%ld is the first", size, at < 0 ? "" : "+", at);
	dry_fatal(code, object, cache->name, detail);
}

bool dry_secure_verify_free(const struct dry_cache *cache, const char *object, _Atomic uint16_t *shadow, uint64_t canary)
{
	size_t slack = slack_of(cache, shadow_get(shadow)); /* of its last life */
	const char *end = end_of_content(cache, object, slack), *bad = is_wiped(cache) ? dry_other_byte(object, end, 0) : NULL;

	if (DRY_LIKELY(bad == NULL))
		bad = dry_canary_find_broken(canary, end, object + cache->size);
	if (DRY_UNLIKELY(bad != NULL)) {
		dry_secure_report_at(DRY_FATAL_POISON, cache, object, bad, cache->size - slack);
		return false;
	}
	if (!is_marked(cache) || mark_holds(object, end, shadow_get(shadow + 1)))
		return true;
	dry_fatal(DRY_FATAL_POISON, object, cache->name, "its content is not what it was when it was freed");
	return false;
}
