/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Options and help, by the description of a command. */
#include "cli.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTIONS 32

static const struct cli_option help_option = { 'h', "help", NULL, "this text" };

/* Lines of text: `before` stands at the beginning of all but the first. */
static void print_lines(const char *text, const char *before)
{
	for (const char *line = text; *line != '\0'; line += strspn(line, "\n")) {
		int length = (int)strcspn(line, "\n");

		printf("%s%.*s\n", line == text ? "" : before, length, line);
		line += length;
	}
}

static void print_option(const struct cli_option *option)
{
	static const char blanks[] = "                        ";
	int width = (int)sizeof(blanks) - 1, n = printf("  -%c, --%s", option->letter, option->name);

	if (option->argument != NULL)
		n += option->argument[0] == '[' ? printf("[=%s", option->argument + 1) : printf(" %s", option->argument);
	printf("%s%*s", n < width ? "" : "\n", n < width ? width - n : width, "");
	print_lines(option->help, blanks);
}

static void print_help(const struct cli_command *command)
{
	char before[64];

	snprintf(before, sizeof(before), "       drystone %s ", command->name);
	printf("Usage: drystone %s ", command->name);
	print_lines(command->synopsis, before);
	printf("\n%s\n", command->about);
	for (const struct cli_option *option = command->options; option != NULL && option->letter != 0; option++)
		print_option(option);
	print_option(&help_option);
	if (command->notes != NULL)
		printf("\n%s", command->notes);
}

static void add_option(struct option *longs, char *shorts, const struct cli_option *option)
{
	bool maybe = option->argument != NULL && option->argument[0] == '[';
	size_t n = strlen(shorts);

	*longs = (struct option){ option->name,
				  option->argument == NULL ? no_argument : maybe ? optional_argument : required_argument,
				  NULL, option->letter };
	shorts[n++] = option->letter;
	if (option->argument != NULL)
		shorts[n++] = ':';
	if (maybe)
		shorts[n++] = ':';
	shorts[n] = '\0';
}

int cli_next_option(const struct cli_command *command, int argc, char **argv)
{
	static char name[64];
	struct option longs[MAX_OPTIONS + 2] = { 0 };
	char shorts[3 * MAX_OPTIONS + 8] = "";
	size_t count = 0;
	int letter;

	snprintf(name, sizeof(name), "drystone %s", command->name); /* for getopt's messages */
	argv[0] = name;
	strcpy(shorts, command->program_follows ? "+" : "");
	for (const struct cli_option *o = command->options; o != NULL && o->letter != 0 && count < MAX_OPTIONS; o++)
		add_option(&longs[count++], shorts, o);
	add_option(&longs[count], shorts, &help_option);
	letter = getopt_long(argc, argv, shorts, longs, NULL);
	if (letter == 'h') {
		print_help(command);
		exit(0);
	}
	if (letter == '?')
		fprintf(stderr, "Try `drystone %s --help`.\n", command->name);
	return letter;
}
