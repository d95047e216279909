// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Which caches are debugged, and how: slab_debug=LETTERS[,NAME...][;LETTERS...], as Documentation/mm/slub.rst says. A block
 * without names is for all caches (the last one counts) but those that a block with names is for (the first one counts).
 */
#include <linux/ctype.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/printk.h>

#include "core/debug_ops.h"
#include "debug/object.h"
#include "slab/caches.h"
#include "slab/letters.h"

#define USUAL (SLAB_CONSISTENCY_CHECKS | SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER)

/* The parameter's text; NULL: there is none. Immutable after boot, as the next. The option is as slab_debug alone. */
static const char *given = IS_ENABLED(CONFIG_SLUB_DEBUG_ON) ? "" : NULL;
static bool no_higher_orders; /* letter O */

static const struct {
	char letter;
	slab_flags_t flag;
	unsigned int core; /* core's flag */
} letters[] = {
	{ 'f', SLAB_CONSISTENCY_CHECKS, DRY_CACHE_CHECKS },
	{ 'z', SLAB_RED_ZONE, DRY_CACHE_RED_ZONE },
	{ 'p', SLAB_POISON, DRY_CACHE_POISON },
	{ 'u', SLAB_STORE_USER, DRY_CACHE_STORE_USER },
	{ 't', SLAB_TRACE, DRY_CACHE_TRACE },
	{ 'a', SLAB_FAILSLAB, 0 }, /* marked for failslab */
	{ 'o', 0, 0 },
	{ '-', 0, 0 },
};

/* ---- text ---- */

struct block {
	slab_flags_t flags;
	const char *names, *end; /* names are NULL: for all */
};

static bool add_letter(char letter, slab_flags_t *flags)
{
	for (size_t i = 0; i < ARRAY_SIZE(letters); i++)
		if (letters[i].letter == tolower(letter)) {
			*flags |= letters[i].flag;
			no_higher_orders |= letters[i].letter == 'o';
			return true;
		}
	return false;
}

/* The block at `at`, where the next one begins, or NULL. */
static const char *parse(const char *at, struct block *block, bool told)
{
	bool any = false;

	block->flags = 0;
	for (; *at != '\0' && *at != ',' && *at != ';'; at++) {
		any = true;
		if (!add_letter(*at, &block->flags) && told)
			pr_err("slab_debug: letter '%c' is not known\n", *at);
	}
	if (!any)
		block->flags = USUAL;
	block->names = *at == ',' ? at + 1 : NULL;
	block->end = strchrnul(at, ';');
	return *block->end == ';' && block->end[1] != '\0' ? block->end + 1 : NULL;
}

/* Names are separated by commas; one that ends in an asterisk stands for all that begin so. */
static bool has_name(const struct block *block, const char *name)
{
	for (const char *at = block->names; at <= block->end;) {
		const char *end = at;
		size_t length;

		while (end < block->end && *end != ',')
			end++;
		length = end - at;
		if (length != 0 && end[-1] == '*' ? strncmp(at, name, length - 1) == 0 :
						    length == strlen(name) && memcmp(at, name, length) == 0)
			return true;
		at = end + 1;
	}
	return false;
}

static int __init set_up(char *text)
{
	struct block block;
	slab_flags_t any = 0;

	given = *text == '=' ? text + 1 : text;
	for (const char *at = given; at != NULL;) {
		at = parse(at, &block, true);
		any |= block.flags;
	}
	if (any & SLAB_STORE_USER)
		dry_want_stacks();
	return 1;
}
__setup("slab_debug", set_up);
__setup_param("slub_debug", set_up_too, set_up, 0);

slab_flags_t dry_letters_flags(slab_flags_t flags, const char *name)
{
	slab_flags_t all = IS_ENABLED(CONFIG_SLUB_DEBUG_ON) ? USUAL : 0;
	struct block block;

	if (flags & SLAB_NO_USER_FLAGS)
		return flags;
	for (const char *at = given; at != NULL;) {
		at = parse(at, &block, false);
		if (block.names == NULL)
			all = block.flags;
		else if (has_name(&block, name))
			return flags | block.flags;
	}
	/* What kmemleak and the likes keep their own records in has stacks only if it is named. */
	return flags | (flags & SLAB_NOLEAKTRACE ? all & ~SLAB_STORE_USER : all);
}

/* ---- core ---- */

/* About what it is then from one object to the next (src/debug/object.h). */
static size_t debugged_bytes(const struct dry_cache_attr *attr, slab_flags_t flags)
{
	size_t bytes = attr->size;

	if (flags & SLAB_RED_ZONE)
		bytes += max_t(size_t, attr->align, 16) + 32;
	if (flags & (SLAB_RED_ZONE | SLAB_STORE_USER))
		bytes += sizeof(struct dry_record);
	return bytes;
}

/* Free objects that somebody may look at cannot be poisoned. */
static unsigned int wanted(const struct dry_cache_attr *attr)
{
	const struct kmem_cache *s = attr->arg;
	unsigned int flags = 0;

	if (no_higher_orders && get_order(debugged_bytes(attr, s->flags)) > get_order(attr->size))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(letters); i++)
		if (s->flags & letters[i].flag)
			flags |= letters[i].core;
	if (s->ctor != NULL || s->flags & SLAB_TYPESAFE_BY_RCU)
		flags &= ~DRY_CACHE_POISON;
	return flags;
}

static const struct dry_debug_ops *choose(const struct dry_cache *cache, bool typed)
{
	return cache->flags & DRY_CACHE_DEBUG ? &dry_debug_checked : NULL;
}

const struct dry_debug_hooks *dry_letters_hooks(void)
{
	static const struct dry_debug_hooks hooks = { .wanted = wanted, .choose = choose };

	return given != NULL ? &hooks : NULL;
}

void dry_letters_made(struct kmem_cache *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(letters); i++)
		if (letters[i].core != 0 && !(s->dry->flags & letters[i].core))
			s->flags &= ~letters[i].flag;
}
