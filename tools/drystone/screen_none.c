/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* No terminal: ncurses was not there when the command was built. screen_open() says so, and nothing else is called. */
#include "screen.h"

const char *screen_open(void)
{
	return "this command was built without ncurses (on Debian: libncurses-dev); --batch prints without it";
}

void screen_close(void)
{
}

void screen_size(int *lines, int *columns)
{
	*lines = 0;
	*columns = 0;
}

void screen_begin(void)
{
}

void screen_line(int line, enum screen_style style, const char *text)
{
	(void)line;
	(void)style;
	(void)text;
}

void screen_end(void)
{
}

int screen_key(int milliseconds)
{
	(void)milliseconds;
	return 'q';
}

bool screen_ask(int line, const char *question, char *text, size_t size)
{
	(void)line;
	(void)question;
	(void)text;
	(void)size;
	return false;
}
