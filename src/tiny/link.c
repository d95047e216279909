/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Lists: rings, and those that end with NULL. */
#include "tiny/tiny.h"

void dry_link_insert(struct dry_link *link, void *behind)
{
	struct dry_link *prev = behind, *next = prev->next;

	link->prev = prev;
	link->next = next;
	if (next != NULL)
		next->prev = link;
	prev->next = link;
}

void dry_link_remove(struct dry_link *link)
{
	struct dry_link *next = link->next, *prev = link->prev;

	if (next != NULL)
		next->prev = prev;
	prev->next = next;
}
