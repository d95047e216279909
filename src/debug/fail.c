/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "debug/fail.h"

#include <stdatomic.h>
#include <string.h>

#include "base/bits.h"
#include "base/fatal.h"
#include "core/cache.h"
#include "debug/mangled.h"
#include "debug/say.h"
#include "port/stack.h"

#define FRAMES  64
#define KNOWN   1024u /* return addresses whose names were looked up already */
#define MILLION 1000000u
#define PLACE   128      /* what a symbol's text has behind the name */

static struct {
	uint64_t nth, every, chance, seed;
	char cache[64];
	char site[DRY_FAIL_SITE]; /* as it was given */
	char function[DRY_FAIL_SITE]; /* the same without what C++ has in brackets */
	bool selected, say;
} wanted;
static struct {
	_Atomic bool cache, site; /* something matched: set once, relaxed, for nothing hangs on it */
} seen;
static _Atomic uint64_t count;
static _Atomic uintptr_t known[KNOWN]; /* address * 2 + whether it is the site's */

/* ---- options -------------------------------------------------------------- */

/* "name=": then *value is what follows. */
static bool is_named(const char *name, const char **value, const char *from, const char *end)
{
	size_t length = 0;

	while (name[length] != '\0')
		length++;
	if ((size_t)(end - from) < length || memcmp(from, name, length) != 0)
		return false;
	*value = from + length;
	return true;
}

static bool number(uint64_t *number, uint64_t least, const char *from, const char *end)
{
	uint64_t n = 0;

	if (from == end || end - from > 18)
		return false;
	for (; from < end; from++) {
		if (*from < '0' || *from > '9')
			return false;
		n = n * 10 + (uint64_t)(*from - '0');
	}
	*number = n;
	return n >= least;
}

static bool text(char *to, size_t room, const char *from, const char *end)
{
	size_t length = (size_t)(end - from);

	if (length == 0 || length >= room)
		return false;
	memcpy(to, from, length);
	to[length] = '\0';
	return true;
}

static bool select_one(const char *from, const char *end)
{
	const char *value;

	if (is_named("nth=", &value, from, end))
		return number(&wanted.nth, 1, value, end);
	if (is_named("every=", &value, from, end))
		return number(&wanted.every, 1, value, end);
	if (is_named("chance=", &value, from, end))
		return number(&wanted.chance, 1, value, end);
	if (is_named("seed=", &value, from, end))
		return number(&wanted.seed, 0, value, end);
	if (is_named("cache=", &value, from, end))
		return text(wanted.cache, sizeof(wanted.cache), value, end);
	if (is_named("site=", &value, from, end))
		return text(wanted.site, sizeof(wanted.site), value, end) &&
		       text(wanted.function, sizeof(wanted.function), value, end);
	if (!is_named("say", &value, from, end) || value != end)
		return false;
	wanted.say = true;
	return true;
}

bool dry_fail_select(const char *from, const char *end)
{
	memset(&wanted, 0, sizeof(wanted));
	for (const char *part = from; from <= end; from++) {
		if (from < end && *from != '/')
			continue;
		if (!select_one(part, from)) {
			memset(&wanted, 0, sizeof(wanted));
			return false;
		}
		part = from + 1;
	}
	dry_mangled_strip(wanted.function);
	wanted.selected = true;
	return true;
}

bool dry_fail_selects(void)
{
	return wanted.selected;
}

/* ---- choice ----------------------------------------------------------------- */

/* How long the word is that the text begins with; 0: it does not. */
static size_t begins(const char *text, const char *word)
{
	size_t length = 0;

	while (word[length] != '\0' && text[length] == word[length])
		length++;
	return word[length] == '\0' ? length : 0;
}

/*
 * "function+0x1c (module+0x2345)", perhaps with a build ID before the last bracket, is of the site; what the compiler has made of a
 * function, too: "function.constprop.0+0x1c".
 */
static bool is_site(const char *symbol)
{
	size_t length = begins(symbol, wanted.site);

	if (length != 0 && (symbol[length] == '+' || symbol[length] == '.'))
		return true;
	if (dry_mangled_is(symbol, wanted.function))
		return true;
	while (*symbol != '\0' && *symbol++ != '(')
		;
	length = begins(symbol, wanted.site);
	return length != 0 && (symbol[length] == ')' || symbol[length] == ' ');
}

static bool comes_from_site(void)
{
	uintptr_t frame[FRAMES];
	unsigned frames = dry_port_stack(frame, FRAMES);

	for (unsigned i = 0; i < frames; i++) {
		_Atomic uintptr_t *place = &known[(frame[i] ^ frame[i] >> 10) % KNOWN];
		uintptr_t found = atomic_load_explicit(place, memory_order_relaxed);
		char symbol[DRY_FAIL_SITE + PLACE];
		if (found >> 1 != frame[i]) {
			dry_port_symbol(frame[i], symbol, sizeof(symbol));
			found = frame[i] << 1 | is_site(symbol);
			atomic_store_explicit(place, found, memory_order_relaxed);
		}
		if (found & 1)
			return true;
	}
	return false;
}

static const char *name_of(const struct dry_cache *cache)
{
	return cache != NULL ? cache->name : "big";
}

static bool is_of(const struct dry_cache *cache)
{
	size_t length = begins(name_of(cache), wanted.cache);

	return length != 0 && name_of(cache)[length] == '\0';
}

static bool is_chosen(uint64_t number)
{
	if (wanted.nth == 0 && wanted.every == 0 && wanted.chance == 0)
		return true;
	return number == wanted.nth || (wanted.every != 0 && number % wanted.every == 0) ||
	       (wanted.chance != 0 && dry_mix64(wanted.seed * 0x9e3779b97f4a7c15u + number) % MILLION < wanted.chance);
}

static void say_it(const struct dry_cache *cache, uint64_t number)
{
	dry_warn("allocation %lu (%s) fails on purpose", (unsigned long)number, name_of(cache));
	dry_debug_say_stack();
}

static void note(_Atomic bool *matched)
{
	if (!atomic_load_explicit(matched, memory_order_relaxed))
		atomic_store_explicit(matched, true, memory_order_relaxed);
}

bool dry_fail_allows(const struct dry_cache *cache)
{
	if (wanted.cache[0] != '\0' && !is_of(cache))
		return true;
	note(&seen.cache);
	if (wanted.site[0] != '\0' && !comes_from_site())
		return true;
	note(&seen.site);
	/* relaxed: a number each, in whatever order */
	uint64_t number = atomic_fetch_add_explicit(&count, 1, memory_order_relaxed) + 1;
	if (!is_chosen(number))
		return true;
	if (wanted.say)
		say_it(cache, number);
	return false;
}

void dry_fail_finish(void)
{
	if (wanted.cache[0] != '\0' && !atomic_load_explicit(&seen.cache, memory_order_relaxed))
		dry_warn("fail: nothing matched cache=%s", wanted.cache);
	else if (wanted.site[0] != '\0' && !atomic_load_explicit(&seen.site, memory_order_relaxed))
		dry_warn("fail: nothing matched site=%s", wanted.site);
}
