/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Patterns that free objects and red zones are filled with. */
#include "base/fmt.h"
#include "base/memory.h"
#include "debug/canary.h"
#include "debug/object.h"

const char *dry_other_byte(const char *from, const char *to, unsigned char value)
{
	size_t bytes = (size_t)(to - from);

	/* all are like the first: libc looks at many bytes at a time */
	if (bytes == 0 || ((unsigned char)*from == value && memcmp(from, from + 1, bytes - 1) == 0))
		return NULL;
	for (; from != to; from++)
		if ((unsigned char)*from != value)
			return from;
	return NULL;
}

void dry_report_damage(struct dry_cache *cache, enum dry_fatal_code code, const char *at, unsigned char value)
{
	char detail[40];

	dry_format(detail, sizeof(detail), "0x%02x instead of 0x%02x", (unsigned char)*at, value);
	dry_fatal(code, at, cache->name, detail);
}

void dry_poison(const struct dry_cache *cache, void *object, size_t bytes)
{
	memset(object, DRY_BYTE_FREE, bytes);
	if (bytes == dry_poisoned_bytes(cache))
		((unsigned char *)object)[bytes - 1] = DRY_BYTE_END;
}

uint16_t dry_object_mark(const struct dry_cache *cache, const void *object)
{
	if (cache->ctor == NULL || (cache->flags & (DRY_CACHE_TYPESAFE_BY_RCU | DRY_CACHE_POISON)))
		return 0;
	return dry_secret_mark(object, (const char *)object + cache->object_size);
}

static void verify_mark(const struct dry_cache *cache, const void *object)
{
	struct dry_record *owner = dry_record_of(cache, object);
	uint16_t mark = owner != NULL ? owner->mark : 0;

	if (mark == 0 || mark == dry_object_mark(cache, object))
		return;
	dry_fatal(DRY_FATAL_POISON, object, cache->name, "its content is not what it was when it was freed");
	owner->mark = 0; /* it is reported once */
}

void dry_object_verify_free(struct dry_cache *cache, void *object)
{
	const char *end = (char *)object + dry_poisoned_bytes(cache) - 1, *wrong;

	if (!(cache->flags & DRY_CACHE_POISON)) {
		verify_mark(cache, object);
		return;
	}
	wrong = dry_other_byte(object, end, DRY_BYTE_FREE);
	if (DRY_LIKELY(wrong == NULL && (unsigned char)*end == DRY_BYTE_END))
		return;
	dry_report_damage(cache, DRY_FATAL_POISON, wrong != NULL ? wrong : end, wrong != NULL ? DRY_BYTE_FREE : DRY_BYTE_END);
	dry_poison(cache, object, dry_poisoned_bytes(cache)); /* it is reported once */
}
