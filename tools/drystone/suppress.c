/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "suppress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static bool matches_here(const char *pattern, const char *name)
{
	for (; *pattern != '*' && *pattern != '\0'; pattern++, name++) {
		if (pattern[0] == '$' && pattern[1] == '\0')
			return *name == '\0';
		if (*pattern != *name)
			return false;
	}
	if (*pattern == '\0')
		return true;
	for (; !matches_here(pattern + 1, name); name++)
		if (*name == '\0')
			return false;
	return true;
}

static bool matches(const char *pattern, const char *name)
{
	bool found = matches_here(pattern + (*pattern == '^'), name);

	while (!found && *pattern != '^' && *name != '\0')
		found = matches_here(pattern, ++name);
	return found;
}

bool suppress_has(const struct suppressions *suppressions, const char *name)
{
	for (size_t i = 0; name != NULL && i < suppressions->count; i++)
		if (matches(suppressions->pattern[i], name))
			return true;
	return false;
}

/* false: it is none, and no comment. */
static bool add_line(struct suppressions *suppressions, char *line)
{
	size_t length = strcspn(line, "\r\n");

	line += strspn(line, " \t");
	for (length = strcspn(line, "\r\n"); length > 0 && strchr(" \t", line[length - 1]) != NULL; length--)
		;
	line[length] = '\0';
	if (line[0] == '\0' || line[0] == '#')
		return true;
	if (strncmp(line, "leak:", 5) != 0 || line[5] == '\0')
		return false;
	suppressions->pattern = cli_realloc(suppressions->pattern, suppressions->count + 1, sizeof(char *));
	suppressions->pattern[suppressions->count++] = strdup(line + 5);
	return true;
}

bool suppress_read(struct suppressions *suppressions, const char *path)
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t room = 0, number = 0;
	bool good = true;

	if (file == NULL) {
		cli_error("cannot read the suppressions %s: %s", path, strerror(errno));
		return false;
	}
	while (good && getline(&line, &room, file) > 0) {
		number++;
		good = add_line(suppressions, line);
	}
	if (!good) {
		cli_error("%s:%zu: no suppression of a leak (leak:PATTERN)", path, number);
	} else if (ferror(file)) {
		cli_error("cannot read the suppressions %s: %s", path, strerror(errno));
		good = false;
	}
	free(line);
	fclose(file);
	return good;
}
