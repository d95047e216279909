/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* drystone run --fail: what the library would not take is said before the program runs. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "run.h"

#define LONGEST 255 /* an option's text */

/* As src/debug/fail.c takes them. */
static const struct part {
	const char *name;
	size_t least, most; /* characters of what follows */
	bool number, nought;
} parts[] = {
	{ "nth=", 1, 18, true, false }, { "every=", 1, 18, true, false }, { "chance=", 1, 18, true, false },
	{ "seed=", 1, 18, true, true }, { "cache=", 1, 63, false, true }, { "site=", 1, 250, false, true },
	{ "say", 0, 0, false, true },
};

static bool is_part(const char *text, size_t length)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const struct part *part = &parts[i];
		size_t name = strlen(part->name), rest = length - name;

		if (length < name || strncmp(text, part->name, name) != 0)
			continue;
		if (rest < part->least || rest > part->most || (part->number && strspn(text + name, "0123456789") != rest))
			return false;
		return part->nought || strtoull(text + name, NULL, 10) != 0;
	}
	return false;
}

bool run_fail_is_good(const char *which)
{
	const char *part = which;

	if (strlen(which) > LONGEST) {
		cli_error("run: --fail: too long, %d bytes at most: %s", LONGEST, which);
		return false;
	}
	if (strchr(which, ',') != NULL) {
		cli_error("run: --fail: no commas (a function may be without its arguments): %s", which);
		return false;
	}
	for (bool last = false; !last; part++) {
		size_t length = strcspn(part, "/");
		if (!is_part(part, length)) {
			cli_error("run: --fail: no such parts: %s; they are nth=N, every=N, chance=N, seed=N, cache=NAME, "
				  "site=FUNCTION and say, with slashes between them", which);
			return false;
		}
		part += length;
		last = *part == '\0';
	}
	return true;
}
