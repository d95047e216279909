/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The class of a size and an alignment, found in a few instructions, is the one that a search through all classes finds; each
 * size has at most 1/9 of waste above 128 bytes.
 */
#include "../support/check.h"
#include "malloc/size_class.h"

static unsigned searched(size_t size, size_t align)
{
	unsigned class = 0;

	while (class < DRY_CLASS_COUNT && (dry_class_size(class) < size || dry_class_size(class) % align != 0))
		class ++;
	return class;
}

int main(void)
{
	CHECK(dry_class_size(DRY_CLASS_COUNT - 1) == DRY_CLASS_MAX);
	for (size_t size = 1; size <= DRY_CLASS_MAX; size++) {
		for (size_t align = 1; align <= DRY_NATURAL_MAX; align *= 2)
			CHECK(dry_class_for(size, align) == searched(size, align));
		CHECK(dry_class_for(size, 2 * DRY_NATURAL_MAX) == DRY_CLASS_COUNT);
		CHECK(dry_class_of(size) == searched(size, 1));
		if (size > 128)
			CHECK((dry_class_size(dry_class_of(size)) - size) * 9 <= dry_class_size(dry_class_of(size)));
	}
	return 0;
}
