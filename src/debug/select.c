/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "debug/select.h"

#include <drystone/drystone.h>
#include <stdatomic.h>
#include <string.h>

#define SELECTIONS 16
#define NAME_ROOM  64

static struct {
	unsigned flags;
	unsigned length;      /* of name */
	bool begins;          /* names may go on */
	_Atomic bool met;     /* there was a cache of that name; relaxed, for nothing hangs on it */
	char name[NAME_ROOM];
} selection[SELECTIONS];
static unsigned count;

static const struct {
	char letter;
	unsigned flag;
} letters[] = {
	{ 'F', DRY_CACHE_CHECKS },     { 'Z', DRY_CACHE_RED_ZONE }, { 'P', DRY_CACHE_POISON },
	{ 'U', DRY_CACHE_STORE_USER }, { 'T', DRY_CACHE_TRACE },    { 'Q', DRY_CACHE_QUARANTINE },
};

static unsigned flag_of(char letter)
{
	for (unsigned i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
		if (letters[i].letter == letter)
			return letters[i].flag;
	return 0;
}

bool dry_debug_select(const char *from, const char *end)
{
	unsigned flags = 0, length;
	bool begins;

	for (; from < end && *from != '/'; from++) {
		if (flag_of(*from) == 0)
			return false;
		flags |= flag_of(*from);
	}
	if (flags == 0)
		flags = DRY_CACHE_CHECKS | DRY_CACHE_RED_ZONE | DRY_CACHE_POISON | DRY_CACHE_STORE_USER;
	begins = from == end; /* no name: all names */
	if (!begins && ++from == end) /* a slash, and no name */
		return false;
	if (!begins && end[-1] == '*') {
		begins = true;
		end--;
	}
	length = (unsigned)(end - from);
	if (length >= NAME_ROOM || count == SELECTIONS)
		return false;
	selection[count].flags = flags;
	selection[count].length = length;
	selection[count].begins = begins;
	memcpy(selection[count].name, from, length);
	count++;
	return true;
}

bool dry_debug_selects(void)
{
	return count != 0;
}

unsigned dry_debug_wanted(const char *name)
{
	unsigned flags = 0, length = 0;

	if (count == 0)
		return 0;
	while (length < NAME_ROOM - 1 && name[length] != '\0')
		length++;
	for (unsigned i = 0; i < count; i++) {
		bool same = selection[i].length == length || (selection[i].begins && selection[i].length < length);
		if (same && memcmp(selection[i].name, name, selection[i].length) == 0) {
			flags |= selection[i].flags;
			atomic_store_explicit(&selection[i].met, true, memory_order_relaxed);
		}
	}
	return flags;
}

bool dry_debug_asks_users(bool met)
{
	for (unsigned i = 0; i < count; i++) {
		bool asks = (selection[i].flags & DRY_CACHE_STORE_USER) != 0;
		if (asks && (!met || atomic_load_explicit(&selection[i].met, memory_order_relaxed)))
			return true;
	}
	return false;
}
