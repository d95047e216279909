/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Patterns that free objects and red zones are filled with. */
#include "base/bits.h"
#include "base/fmt.h"
#include "base/memory.h"
#include "debug/canary.h"
#include "debug/object.h"

const unsigned char *dry_other_byte(const unsigned char *at, size_t n, unsigned char value)
{
	/* all are like the first: libc looks at many bytes at a time */
	if (n == 0 || (*at == value && memcmp(at, at + 1, n - 1) == 0))
		return NULL;
	for (; n > 0; n--, at++)
		if (*at != value)
			return at;
	return NULL;
}

void dry_report_damage(struct dry_cache *cache, enum dry_fatal_code code, const unsigned char *at, unsigned char value)
{
	char detail[40];

	dry_format(detail, sizeof(detail), "0x%02x instead of 0x%02x", *at, value);
	dry_fatal(code, at, cache->name, detail);
}

void dry_poison(const struct dry_cache *cache, void *object)
{
	size_t bytes = dry_poisoned_bytes(cache);

	memset(object, DRY_BYTE_FREE, bytes);
	((unsigned char *)object)[bytes - 1] = DRY_BYTE_END;
}

uint16_t dry_object_mark(const struct dry_cache *cache, const void *object)
{
	if (cache->ctor == NULL || (cache->flags & (DRY_CACHE_TYPESAFE_BY_RCU | DRY_CACHE_POISON)))
		return 0;
	return dry_secret_mark(object, (const char *)object + cache->object_size);
}

static bool verify_mark(const struct dry_cache *cache, const void *object)
{
	struct dry_record *owner = dry_record_of(cache, object);
	uint16_t mark = owner != NULL ? owner->mark : 0;

	if (mark == 0 || mark == dry_object_mark(cache, object))
		return true;
	dry_fatal(DRY_FATAL_POISON, object, cache->name, "its content is not what it was when it was freed");
	owner->mark = 0; /* it is reported once */
	return false;
}

bool dry_object_verify_free(struct dry_cache *cache, void *object)
{
	size_t last = dry_poisoned_bytes(cache) - 1;
	const unsigned char *end = (unsigned char *)object + last, *wrong;

	if (!(cache->flags & DRY_CACHE_POISON))
		return verify_mark(cache, object);
	wrong = dry_other_byte(object, last, DRY_BYTE_FREE);
	if (DRY_LIKELY(wrong == NULL && *end == DRY_BYTE_END))
		return true;
	dry_report_damage(cache, DRY_FATAL_POISON, wrong != NULL ? wrong : end, wrong != NULL ? DRY_BYTE_FREE : DRY_BYTE_END);
	dry_poison(cache, object); /* it is reported once */
	return false;
}
