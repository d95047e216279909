/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "debug/mangled.h"

#include <stddef.h>
#include <string.h>

#define PARTS 16

struct part {
	const char *name;
	size_t length;
	bool destroys; /* with ~ before it */
};

/* Where the text has that character first; NULL: nowhere. */
static const char *find(const char *text, char c)
{
	while (*text != c)
		if (*text++ == '\0')
			return NULL;
	return text;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Past "12abcdefghijkl", and what it is in *part; NULL: the text ends before. */
static const char *read_name(const char *at, struct part *part)
{
	size_t length = 0;

	while (is_digit(*at) && length < 10000)
		length = length * 10 + (size_t)(*at++ - '0');
	*part = (struct part){ .name = at, .length = length };
	while (length > 0 && *at != '\0')
		at++, length--;
	return length == 0 ? at : NULL;
}

/* Past "St", "Sa", "S_" or "S12_". */
static const char *skip_substitution(const char *at)
{
	at++;
	if (*at >= 'a' && *at <= 'z')
		return at + 1;
	while (is_digit(*at) || (*at >= 'A' && *at <= 'Z'))
		at++;
	return *at == '_' ? at + 1 : NULL;
}

/* Past the next one of these: the end of "Li5E", "A5_" or "T0_". */
static const char *skip_to(const char *at, char end)
{
	at = find(at, end);
	return at != NULL ? at + 1 : NULL;
}

/* Past "I...E". NULL: the text ends before. */
static const char *skip_arguments(const char *at)
{
	unsigned depth = 0;
	struct part part;

	do {
		if (*at == '\0')
			return NULL;
		if (is_digit(*at))
			at = read_name(at, &part);
		else if (*at == 'S')
			at = skip_substitution(at);
		else if (*at == 'L')
			at = skip_to(at, 'E');
		else if (*at == 'A' || *at == 'T')
			at = skip_to(at, '_');
		else if (find("INJXF", *at) != NULL)
			depth++, at++;
		else
			depth -= *at++ == 'E';
	} while (at != NULL && depth != 0);
	return at;
}

/* Past one piece of a name, which is in *part if it has a name: from *part before, for a constructor. NULL: it is none. */
static const char *read_piece(const char *at, struct part *part, bool *named)
{
	*named = is_digit(*at);
	if (*named)
		return read_name(at, part);
	if (*at == 'I')
		return skip_arguments(at);
	if (*at == 'B' && is_digit(at[1])) { /* a tag, [abi:cxx11] */
		struct part tag;
		return read_name(at + 1, &tag);
	}
	if (*at == 'L') /* of this file alone */
		return at + 1;
	*named = (*at == 'C' || *at == 'D') && is_digit(at[1]);
	if (*named) {
		part->destroys = *at == 'D';
		return at + 2;
	}
	*named = *at == 'S';
	if (!*named)
		return NULL;
	*part = at[1] == 't' ? (struct part){ .name = "std", .length = 3 } : (struct part){ .name = at };
	return skip_substitution(at);
}

/* The parts of the name that follows _Z; 0: it has none, or is cut. */
static unsigned read_parts(const char *at, struct part *part)
{
	bool nested = *at == 'N', named;
	struct part last = { .name = at };
	unsigned count = 0;

	if (nested)
		while (*++at == 'r' || *at == 'V' || *at == 'K' || *at == 'R' || *at == 'O')
			;
	while (count < PARTS) {
		bool plain = is_digit(*at);
		if (nested && *at == 'E')
			return count;
		at = read_piece(at, &last, &named);
		if (at == NULL)
			return 0;
		if (named)
			part[count++] = last;
		if (plain && !nested)
			return count;
	}
	return 0;
}

static bool is_part(const struct part *part, const char *from, const char *end)
{
	if (part->destroys && *from++ != '~')
		return false;
	return (size_t)(end - from) == part->length && memcmp(part->name, from, part->length) == 0;
}

bool dry_mangled_is(const char *symbol, const char *name)
{
	struct part part[PARTS];
	const char *end = find(name, '\0'), *from;
	unsigned count;

	if (symbol[0] != '_' || symbol[1] != 'Z')
		return false;
	for (count = read_parts(symbol + 2, part); count > 0; end = from - 2) {
		for (from = end; from > name && from[-1] != ':';)
			from--;
		if (!is_part(&part[--count], from, end))
			return false;
		if (from == name)
			return true;
		if (from - name < 2)
			return false;
	}
	return false;
}

void dry_mangled_strip(char *name)
{
	unsigned depth = 0;
	char *to = name;

	for (const char *at = name; *at != '\0' && (*at != '(' || depth != 0); at++) {
		depth += *at == '<';
		if (depth == 0)
			*to++ = *at;
		depth -= *at == '>' && depth != 0;
	}
	*to = '\0';
}
