/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "debug/tags.h"

#include "base/bits.h"
#include "port/contract.h"
#include "port/guard.h"

#define LEAST_PAGE ((uintptr_t)4096)

bool dry_tags_used;
enum dry_tagging dry_tags_wanted = DRY_TAGS_SYNC;

bool dry_tags_start(void)
{
	dry_tags_used = DRY_HAS_TAGS && dry_tags_wanted != DRY_TAGS_NEVER && dry_port_alone() &&
			dry_port_use_tags(dry_tags_wanted == DRY_TAGS_SYNC);
	return dry_tags_used;
}

/* A bit for the tag of the memory there. */
static unsigned tag_at(const char *address)
{
	return 1u << ((uintptr_t)dry_tag_load(address) >> 56 & 15);
}

void *dry_tags_give(void *object, size_t size, size_t slot)
{
	size_t tagged = dry_round_up(size, DRY_TAG_BYTES);
	char *at = object, *pointer;
	unsigned others;

	if (((uintptr_t)object | slot) % DRY_TAG_BYTES != 0)
		return object;
	others = tag_at(at); /* of a block that changes its size where it is: the old pointer ends */
	/* On another page there may be none: a fence. Neighbours that get theirs at the same moment may get one tag. */
	if ((uintptr_t)at % LEAST_PAGE != 0)
		others |= tag_at(at - DRY_TAG_BYTES);
	if ((uintptr_t)(at + slot) % LEAST_PAGE != 0)
		others |= tag_at(at + slot);
	pointer = dry_tag_random(at, others);
	dry_tag_store(pointer, tagged);
	if (dry_tag_load(at) != pointer) /* the memory has none */
		return object;
	dry_tag_store(at + tagged, slot - tagged);
	return pointer;
}
