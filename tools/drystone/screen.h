/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A terminal of lines and keys, as drystone top needs it. screen_curses.c has it by ncurses, screen_none.c is for builds
 * without. What changed since the last screen is all that is sent to the terminal.
 */
#ifndef DRYSTONE_SCREEN_H
#define DRYSTONE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/* What screen_key() gives beside characters. */
enum screen_key { KEY_NONE = -1, KEY_LINE_UP = -100, KEY_LINE_DOWN, KEY_PAGE_UP, KEY_PAGE_DOWN, KEY_FIRST, KEY_RETURN, KEY_BACK };
enum screen_style { STYLE_PLAIN, STYLE_BOLD, STYLE_TITLE };

/* NULL, or why there is none. */
const char *screen_open(void);
void screen_close(void);
void screen_size(int *lines, int *columns);
/* A new screen, empty; shown by screen_end(). */
void screen_begin(void);
void screen_line(int line, enum screen_style style, const char *text);
void screen_end(void);
/* A key within this many milliseconds. KEY_NONE: none came, or the size of the terminal changed. */
int screen_key(int milliseconds);
/* Ask in this line for a text; false: it is empty. */
bool screen_ask(int line, const char *question, char *text, size_t size);

#endif
