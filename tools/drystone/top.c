/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* drystone top: the processes that run on drystone, and the caches of one of them, again and again. */
#include "cli.h"
#include "processes.h"
#include "screen.h"
#include "top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHORTEST 0.1
#define LONGEST  86400.0

/* The rows that are shown, of what was read last. */
static void choose_rows(struct top *top)
{
	snapshot_free(&top->rows);
	top->rows = snapshot_copy(&top->now);
	top->selection.filter = top->filter[0] != '\0' ? top->filter : NULL;
	top->selection.no_empty = true;
	snapshot_select(&top->rows, &top->selection);
	if (top->cursor >= top->rows.count)
		top->cursor = top->rows.count != 0 ? top->rows.count - 1 : 0;
}

/* false: there is nothing to look at any more; source.error says why, or is empty. */
static bool look(struct top *top)
{
	const struct walk_options options = { .blocks = true };
	struct snapshot s;

	if (top->source.pid == 0 && top->source.path == NULL)
		top->refused = processes_read(&s);
	else if (!source_read(&top->source, &options, &s))
		return false;
	else if (s.damage != NULL && top->source.path == NULL && top->now.when != 0 && source_is_ending(&top->source)) {
		source_explain(&top->source, TARGET_ENDED, NULL);
		snapshot_free(&s);
		return false;
	}
	if (top->now.when != 0)
		snapshot_compare(&s, &top->now);
	snapshot_free(&top->now);
	top->now = s;
	choose_rows(top);
	return true;
}

/* Another process, or 0: all of them. */
static void turn_to(struct top *top, pid_t pid)
{
	snapshot_free(&top->now);
	top->source.pid = pid;
	top->from_list = pid != 0;
	top->first = 0;
	top->cursor = 0;
	top->filter[0] = '\0';
}

static bool set_delay(struct top *top, const char *text)
{
	char *end;
	double delay = strtod(text, &end);

	if (end == text || *end != '\0' || !(delay >= SHORTEST && delay <= LONGEST))
		return false;
	top->delay = delay;
	return true;
}

/* ---- on a screen ------------------------------------------------------------------------------------- */

static void draw(struct top *top)
{
	struct columns columns;
	char text[MAX_LINE];
	int lines, width;

	screen_size(&lines, &width);
	size_t room = lines > TOP_HEAD ? (size_t)lines - TOP_HEAD : 0;
	if (top->cursor < top->first)
		top->first = top->cursor;
	if (room != 0 && top->cursor >= top->first + room)
		top->first = top->cursor - room + 1;
	top_columns(top, &columns);
	screen_begin();
	for (unsigned n = 0; n < TOP_HEAD; n++) {
		top_head(top, n, text, sizeof(text));
		screen_line((int)n, n == TOP_HEAD - 1 ? STYLE_TITLE : STYLE_PLAIN, text);
	}
	for (size_t i = 0; i < room && top->first + i < top->rows.count; i++) {
		format_row(text, sizeof(text), &top->rows.rows[top->first + i], &columns);
		screen_line((int)(TOP_HEAD + i), top->first + i == top->cursor ? STYLE_BOLD : STYLE_PLAIN, text);
	}
	screen_end();
}

static void draw_keys(void)
{
	screen_begin();
	for (int i = 0; top_keys[i] != NULL; i++)
		screen_line(i, i == 0 ? STYLE_BOLD : STYLE_PLAIN, top_keys[i]);
	screen_end();
	while (screen_key(1000) == KEY_NONE)
		;
}

/* Sort by the column beside the one at hand. */
static void sort_beside(struct top *top, bool right)
{
	struct columns columns;

	top_columns(top, &columns);
	for (size_t i = 0; i < columns.count; i++)
		if ((int)columns.figure[i] == top->selection.sort && (right ? i + 1 < columns.count : i > 0)) {
			top->selection.sort = (int)columns.figure[right ? i + 1 : i - 1];
			return;
		}
	if (top->selection.sort == SORT_NAME && right)
		top->selection.sort = (int)columns.figure[0];
	else if ((int)columns.figure[0] == top->selection.sort && !right)
		top->selection.sort = SORT_NAME;
}

static bool sort_by_key(struct top *top, int key)
{
	static const struct {
		char key;
		int sort;
	} orders[] = { { 'b', FIG_BYTES },  { 'l', FIG_LIVE }, { 'w', FIG_WASTE },
		       { 'g', FIG_GROWTH }, { 'a', FIG_RATE }, { 'n', SORT_NAME } };

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		if (key == orders[i].key) {
			top->selection.sort = orders[i].sort;
			return true;
		}
	return false;
}

static bool move_cursor(struct top *top, int key)
{
	int lines, width;
	size_t last = top->rows.count != 0 ? top->rows.count - 1 : 0, page;

	screen_size(&lines, &width);
	page = lines > TOP_HEAD ? (size_t)lines - TOP_HEAD : 1;
	if (key == KEY_LINE_UP)
		top->cursor -= top->cursor != 0;
	else if (key == KEY_LINE_DOWN)
		top->cursor += top->cursor < last;
	else if (key == KEY_PAGE_UP)
		top->cursor -= top->cursor < page ? top->cursor : page;
	else if (key == KEY_PAGE_DOWN)
		top->cursor = last - top->cursor < page ? last : top->cursor + page;
	else if (key == KEY_FIRST)
		top->cursor = 0;
	else
		return false;
	return true;
}

static void ask_filter(struct top *top)
{
	char text[sizeof(top->filter)];

	if (screen_ask(TOP_HEAD - 2, "Only names like (empty: as it was, =: all): ", text, sizeof(text)))
		strcpy(top->filter, strcmp(text, "=") == 0 ? "" : text);
}

static void ask_delay(struct top *top)
{
	char question[64], text[32];

	snprintf(question, sizeof(question), "Seconds between two looks (%.1f to %.0f, now %.1f): ", SHORTEST, LONGEST, top->delay);
	if (screen_ask(TOP_HEAD - 2, question, text, sizeof(text)))
		set_delay(top, text);
}

enum then { THEN_WAIT, THEN_LOOK, THEN_QUIT };

/* What a key does, and what comes next. */
static enum then press(struct top *top, int key)
{
	switch (key) {
	case 'q':
		return THEN_QUIT;
	case ' ':
		return THEN_LOOK;
	case 'h':
	case '?':
		draw_keys();
		return THEN_WAIT;
	case 'd':
	case 's':
		ask_delay(top);
		return THEN_LOOK;
	case 'o':
	case '/':
		ask_filter(top);
		break;
	case 'R':
		top->selection.reverse = !top->selection.reverse;
		break;
	case '<':
	case '>':
		sort_beside(top, key == '>');
		break;
	case KEY_RETURN:
		if (top->source.pid != 0 || top->cursor >= top->rows.count)
			return THEN_WAIT;
		turn_to(top, (pid_t)top->rows.rows[top->cursor].index);
		return THEN_LOOK;
	case KEY_BACK:
		if (!top->from_list)
			return THEN_WAIT;
		turn_to(top, 0);
		return THEN_LOOK;
	default:
		if (!sort_by_key(top, key) && !move_cursor(top, key))
			return THEN_WAIT;
	}
	choose_rows(top);
	return THEN_WAIT;
}

/* Keys until it is time to look again. */
static enum then wait_and_press(struct top *top, double until)
{
	enum then then = THEN_WAIT;
	double left;

	while (then == THEN_WAIT && (left = until - cli_now()) > 0) {
		draw(top);
		then = press(top, screen_key((int)(left * 1000) + 1));
	}
	return then == THEN_QUIT ? THEN_QUIT : THEN_LOOK;
}

/* As look(); when a process has ended that was chosen among all, all are shown again. */
static bool look_again(struct top *top)
{
	if (look(top))
		return true;
	if (!top->from_list)
		return false;
	turn_to(top, 0);
	return look(top);
}

static int run_on_screen(struct top *top, unsigned rounds)
{
	const char *error;
	bool good = look(top);

	error = good ? screen_open() : NULL;
	if (!good || error != NULL) {
		cli_error("%s%s", good ? "top: " : "", good ? error : top->source.error);
		return CLI_FAILED;
	}
	for (unsigned n = 0; good && (rounds == 0 || n < rounds); n++) {
		draw(top);
		if (wait_and_press(top, cli_now() + top->delay) == THEN_QUIT)
			break;
		good = look_again(top);
	}
	screen_close();
	if (!good)
		cli_error("%s", top->source.error);
	return 0;
}

/* ---- without one --------------------------------------------------------------------------------------- */

static int run_in_batch(struct top *top, unsigned rounds)
{
	struct columns columns;
	char text[MAX_LINE];
	bool watched = top->source.pid != 0;

	for (unsigned n = 0; rounds == 0 || n < rounds; n++) {
		if (n != 0)
			cli_wait(top->delay, NULL);
		if (!look(top)) {
			cli_error("%s", top->source.error);
			return n != 0 ? 0 : CLI_FAILED;
		}
		watched |= top->now.count != 0;
		top_columns(top, &columns);
		for (unsigned i = 0; i < TOP_HEAD; i++) {
			top_head(top, i, text, sizeof(text));
			puts(text);
		}
		for (size_t i = 0; i < top->rows.count; i++) {
			format_row(text, sizeof(text), &top->rows.rows[i], &columns);
			puts(text);
		}
		putchar('\n');
		if (!cli_output_is_whole())
			return CLI_FAILED;
	}
	return watched ? 0 : CLI_FAILED;
}

/* ---- the command ---------------------------------------------------------------------------------------- */

struct arguments {
	bool batch;
	unsigned rounds; /* 0: without end */
};

/* false after a message. */
static bool set_option(struct top *top, struct arguments *arguments, int letter, const char *argument)
{
	char *end;

	switch (letter) {
	case 'b':
		arguments->batch = true;
		return true;
	case 'd':
		if (!set_delay(top, argument))
			break;
		return true;
	case 'n':
		arguments->rounds = (unsigned)strtoul(argument, &end, 10);
		if (*end != '\0' || arguments->rounds == 0 || argument[0] == '-')
			break;
		return true;
	case 'f':
		snprintf(top->filter, sizeof(top->filter), "%s", argument);
		return true;
	case 's':
		if (!figure_by_key(argument, &top->selection.sort))
			break;
		return true;
	default:
		return false;
	}
	cli_error("top: \"%s\" is no value for -%c. Try `drystone top --help`", argument, letter);
	return false;
}

static int main_top(int argc, char **argv)
{
	struct top top = { .selection.sort = FIG_BYTES, .delay = 2 };
	struct arguments arguments = { 0 };
	int letter, status;

	while ((letter = cli_next_option(&cli_top, argc, argv)) != -1)
		if (!set_option(&top, &arguments, letter, optarg))
			return CLI_USAGE;
	if (argc - optind > 1) {
		cli_error("top: one PID at most. Try `drystone top --help`");
		return CLI_USAGE;
	}
	if (optind < argc && (!source_parse(&top.source, argv[optind]) || top.source.path != NULL)) {
		cli_error("top: \"%s\" is no process id", argv[optind]);
		return CLI_USAGE;
	}
	status = arguments.batch ? run_in_batch(&top, arguments.rounds) : run_on_screen(&top, arguments.rounds);
	snapshot_free(&top.now);
	snapshot_free(&top.rows);
	return status;
}

static const struct cli_option options[] = {
	{ 'd', "delay", "SECONDS", "between two looks; default: 2" },
	{ 's', "sort", "KEY", "by which figure, or by name; default: bytes" },
	{ 'f', "filter", "GLOB", "only what has such a name; * ? [] as in the shell" },
	{ 'b', "batch", NULL, "print to standard output, no keys" },
	{ 'n', "iterations", "N", "end after so many looks" },
	{ 0, NULL, NULL, NULL },
};

const struct cli_command cli_top = {
	.name = "top",
	.main = main_top,
	.synopsis = "[OPTION]... [PID]",
	.summary = "watch processes, or the caches of one of them",
	.about = "Show the processes that run on drystone, or the caches and big blocks of one, again and again:\n"
		 "bytes, growth, allocations a second, waste. Processes are not stopped.\n",
	.options = options,
	.notes = "Keys: q quit, h help, d delay, b l w g a n sort by bytes, live, waste, growth, allocations,\n"
		 "name, < > by another column, R the other way round, o filter, Enter and Esc: into a process\n"
		 "and back. The values of --sort are those of `drystone info`.\n",
};
