/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A second file with kmem.h: what both share is there once. */
#include "other.h"

#include <drystone/kmem.h>

static int asked;

static unsigned long count(struct shrinker *shrinker, struct shrink_control *control)
{
	(void)shrinker;
	(void)control;
	asked++;
	return 0;
}

static unsigned long scan(struct shrinker *shrinker, struct shrink_control *control)
{
	(void)shrinker;
	(void)control;
	return SHRINK_STOP;
}

static struct shrinker other;

void other_register(void)
{
	other.count_objects = count;
	other.scan_objects = scan;
	register_shrinker(&other, "other");
}

int other_asked(void)
{
	return asked;
}
