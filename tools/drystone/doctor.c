/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* drystone doctor: whether drystone serves a program or process, why not, and what the machine gives it. */
#include "doctor.h"
#include "cli.h"
#include "show.h"
#include "source.h"
#include "text.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct finding {
	const char *area, *key;
	enum level level;
	char text[1024];
};

static struct finding *findings;
static size_t count, room;

void doctor_say(const char *area, enum level level, const char *key, const char *format, ...)
{
	struct finding *finding;
	va_list ap;

	if (count == room) {
		room = room != 0 ? 2 * room : 32;
		findings = cli_realloc(findings, room, sizeof(*findings));
	}
	finding = &findings[count++];
	*finding = (struct finding){ .area = area, .level = level, .key = key };
	va_start(ap, format);
	vsnprintf(finding->text, sizeof(finding->text), format, ap);
	va_end(ap);
	text_make_line(finding->text);
}

static const char *name_of(enum level level)
{
	return level == LEVEL_OK ? "ok" : level == LEVEL_NOTE ? "note" : "no";
}

/* The first reason why not; NULL: none. */
static const struct finding *obstacle(void)
{
	for (size_t i = 0; i < count; i++)
		if (findings[i].level == LEVEL_NO)
			return &findings[i];
	return NULL;
}

static void show_text_findings(const char *what, bool running)
{
	const char *area = "";

	for (size_t i = 0; i < count; i++) {
		if (strcmp(area, findings[i].area) != 0)
			printf("%s%s\n", i != 0 ? "\n" : "", findings[i].area);
		area = findings[i].area;
		printf("  %-5s %s\n", name_of(findings[i].level), findings[i].text);
	}
	if (strcmp(area, "machine") == 0 && (strcmp(findings[0].area, "machine") == 0))
		return; /* the machine alone was asked for */
	printf("\n%s %s %s\n", running ? "drystone" : "`drystone run` would",
	       obstacle() == NULL ? (running ? "serves" : "serve") : (running ? "does not serve" : "not serve"), what);
}

static void show_json_findings(const char *what)
{
	printf("{");
	json_text("subject", what);
	printf(", \"served\": %s, \"findings\": [", obstacle() == NULL ? "true" : "false");
	for (size_t i = 0; i < count; i++) {
		printf("%s\n  {", i != 0 ? "," : "");
		json_text("area", findings[i].area);
		printf(", ");
		json_text("level", name_of(findings[i].level));
		printf(", ");
		json_text("key", findings[i].key);
		printf(", ");
		json_text("text", findings[i].text);
		printf("}");
	}
	puts("\n]}");
}

static int main_doctor(int argc, char **argv)
{
	struct source source = { 0 };
	char path[PATH_MAX] = "this machine";
	bool json = false, good = true;
	int letter;

	while ((letter = cli_next_option(&cli_doctor, argc, argv)) != -1) {
		if (letter != 'j')
			return CLI_USAGE;
		json = true;
	}
	if (argc - optind > 1) {
		cli_error("doctor: one PID or program at most. Try `drystone doctor --help`");
		return CLI_USAGE;
	}
	if (optind < argc && source_parse(&source, argv[optind]) && source.path == NULL) {
		snprintf(path, sizeof(path), "process %d", (int)source.pid);
		good = doctor_process(source.pid);
	} else if (optind < argc) {
		if (cli_find_program(argv[optind], path, sizeof(path)))
			good = doctor_program(path);
		else
			good = (cli_error("doctor: no program \"%s\"", argv[optind]), false);
	}
	if (!good)
		return CLI_FAILED;
	doctor_machine(source.pid);
	if (json)
		show_json_findings(path);
	else
		show_text_findings(path, source.pid != 0);
	good = obstacle() == NULL;
	free(findings);
	return good ? 0 : CLI_FAILED;
}

static const struct cli_option options[] = {
	{ 'j', "json", NULL, "as JSON" },
	{ 0, NULL, NULL, NULL },
};

const struct cli_command cli_doctor = {
	.name = "doctor",
	.main = main_doctor,
	.synopsis = "[OPTION]... [PROGRAM | PID]",
	.summary = "whether drystone serves a program, and why not",
	.about = "Say whether drystone serves a program that `drystone run` starts, or a process that runs, and\n"
		 "why not; and what the machine gives: restartable sequences, big pages, limits. The program is\n"
		 "not started. Without an argument: the machine alone.\n",
	.options = options,
	.notes = "Each line is \"ok\", a \"note\", or \"no\": a reason why drystone does not serve it. Exit status:\n"
		 "0 if it does; 1 if not, or if that could not be found out; 2 for a wrong call.\n",
};
