/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "port/linux/lines.h"

#include "port/unix/file.h"

bool dry_linux_lines_open(struct dry_linux_lines *lines, const char *path)
{
	lines->fd = dry_file_open(path);
	lines->at = lines->length = 0;
	return lines->fd >= 0;
}

void dry_linux_lines_close(struct dry_linux_lines *lines)
{
	dry_file_close(lines->fd);
}

/* The next character; '\0': the end. */
static char next(struct dry_linux_lines *lines)
{
	if (lines->at == lines->length) {
		ptrdiff_t got = dry_file_read(lines->fd, lines->text, sizeof(lines->text));

		if (got <= 0)
			return '\0';
		lines->at = 0;
		lines->length = (uint8_t)got;
	}
	return lines->text[lines->at++];
}

/* Behind the name, where a line begins with it. false: there is none. */
static bool find(struct dry_linux_lines *lines, const char *name)
{
	bool other = false; /* this line begins otherwise */
	size_t same = 0;
	char c;

	while (name[same] != '\0') {
		c = next(lines);
		if (c == '\0')
			return false;
		if (c == '\n') {
			other = false;
			same = 0;
		} else if (!other && c == name[same]) {
			same++;
		} else {
			other = true;
		}
	}
	return true;
}

static unsigned digit(char c)
{
	return c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

static uint64_t number(struct dry_linux_lines *lines, unsigned base, uint64_t none)
{
	uint64_t value = 0;
	char c = ' ';

	while (c == ' ' || c == '\t')
		c = next(lines);
	if (digit(c) >= base)
		return none;
	for (; digit(c) < base; c = next(lines))
		value = value * base + digit(c);
	return value;
}

uint64_t dry_linux_lines_number(struct dry_linux_lines *lines, const char *name, unsigned base, uint64_t none)
{
	return find(lines, name) ? number(lines, base, none) : none;
}

uint64_t dry_linux_lines_first(struct dry_linux_lines *lines, const char *path)
{
	uint64_t value;

	if (!dry_linux_lines_open(lines, path))
		return 0;
	value = number(lines, 10, 0);
	dry_linux_lines_close(lines);
	return value;
}

uint64_t dry_linux_number_in(const char *path)
{
	struct dry_linux_lines lines;

	return dry_linux_lines_first(&lines, path);
}
