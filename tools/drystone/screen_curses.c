/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "screen.h"

#include <curses.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static SCREEN *terminal;

/* What the handler of ncurses does, which ends with 1. */
static void interrupt(int signal)
{
	(void)signal;
	endwin();
	_exit(0);
}

const char *screen_open(void)
{
	struct sigaction action = { .sa_handler = interrupt };

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return "this is no terminal; --batch prints without one";
	terminal = newterm(NULL, stdout, stdin);
	if (terminal == NULL)
		return "the terminal is of a kind that is not known; set TERM, or use --batch";
	if (tigetstr("cup") == NULL) {
		screen_close();
		return "the terminal cannot move its cursor; use --batch";
	}
	sigaction(SIGINT, &action, NULL);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	set_escdelay(50);
	curs_set(0);
	return NULL;
}

void screen_close(void)
{
	endwin();
	delscreen(terminal);
}

void screen_size(int *lines, int *columns)
{
	getmaxyx(stdscr, *lines, *columns);
}

void screen_begin(void)
{
	erase();
}

void screen_line(int line, enum screen_style style, const char *text)
{
	int width = getmaxx(stdscr);

	attrset(style == STYLE_PLAIN ? A_NORMAL : style == STYLE_BOLD ? A_BOLD : A_REVERSE);
	mvaddnstr(line, 0, text, width);
	if (style == STYLE_TITLE)
		for (int at = (int)strlen(text); at < width; at++)
			addch(' ');
	attrset(A_NORMAL);
}

void screen_end(void)
{
	refresh();
}

int screen_key(int milliseconds)
{
	static const struct {
		int code, key;
	} keys[] = { { KEY_UP, KEY_LINE_UP },	   { KEY_DOWN, KEY_LINE_DOWN },	  { KEY_PPAGE, KEY_PAGE_UP },
		     { KEY_NPAGE, KEY_PAGE_DOWN }, { KEY_HOME, KEY_FIRST },	  { KEY_ENTER, KEY_RETURN },
		     { '\r', KEY_RETURN },	   { '\n', KEY_RETURN },	  { KEY_LEFT, KEY_BACK },
		     { 27, KEY_BACK },		   { KEY_BACKSPACE, KEY_BACK },	  { 127, KEY_BACK } };
	int code;

	timeout(milliseconds);
	code = getch();
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (code == keys[i].code)
			return keys[i].key;
	return code >= ' ' && code < 127 ? code : KEY_NONE;
}

bool screen_ask(int line, const char *question, char *text, size_t size)
{
	move(line, 0);
	clrtoeol();
	mvaddstr(line, 0, question);
	echo();
	curs_set(1);
	timeout(-1);
	text[0] = '\0';
	getnstr(text, (int)size - 1);
	noecho();
	curs_set(0);
	return text[0] != '\0';
}
