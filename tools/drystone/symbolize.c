/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * drystone symbolize: reports of the library made whole. Lines "  [FUNCTION+0x1c ](MODULE+0x2345[ BUILD])" become functions,
 * files and lines; all else is copied. A module is found by its name: given by --file, or where programs and libraries are; one of
 * another build is passed over. What is gone may have left its debug file, which is found by the build alone.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "run.h"
#include "symbols.h"
#include "text.h"

#define BUILD 16 /* digits of a build ID */

struct module {
	char *name;
	char build[BUILD + 1];   /* "": not known */
	struct symbols *symbols; /* NULL: not found */
	uint64_t base;
	char *other;             /* a file of that name and another build; NULL: there was none */
};

static struct module *modules;
static size_t module_count;
static const char **files; /* of --file */
static size_t file_count;

static bool try_file(struct module *module, const char *path)
{
	if (access(path, R_OK) != 0 || (module->symbols = symbols_open_file(path, &module->base)) == NULL)
		return false;
	if (symbols_is_build(module->symbols, module->build))
		return true;
	symbols_close(module->symbols);
	module->symbols = NULL;
	if (module->other == NULL)
		module->other = strdup(path);
	return false;
}

static bool try_files(struct module *module, const char *pattern)
{
	bool done = false;
	glob_t found;

	if (glob(pattern, 0, NULL, &found) != 0)
		return false;
	for (size_t i = 0; i < found.gl_pathc && !done; i++)
		done = try_file(module, found.gl_pathv[i]);
	globfree(&found);
	return done;
}

/* In folders with colons between them. */
static bool try_folders(struct module *module, const char *folders)
{
	char pattern[PATH_MAX];

	if (strpbrk(module->name, "*?[\\") != NULL)
		return false;
	for (const char *at = folders; at != NULL && *at != '\0'; at += strspn(at, ":")) {
		int length = (int)strcspn(at, ":");
		snprintf(pattern, sizeof(pattern), "%.*s/%s", length, at, module->name);
		at += length;
		if (try_files(module, pattern))
			return true;
	}
	return false;
}

static bool find(struct module *module)
{
	char pattern[PATH_MAX];

	for (size_t i = 0; i < file_count; i++)
		if (strcmp(text_base_name(files[i]), module->name) == 0 && try_file(module, files[i]))
			return true;
	if (try_folders(module, getenv("LD_LIBRARY_PATH")) || try_folders(module, getenv("PATH")) ||
	    try_folders(module, "/lib:/lib/*-linux-*:/lib64:/usr/lib:/usr/lib/*-linux-*:/usr/lib64:/usr/local/lib:"
				"/usr/local/lib/*-linux-*:/usr/lib/python3*/lib-dynload:/usr/lib/*-linux-*/*"))
		return true;
	snprintf(pattern, sizeof(pattern), "/usr/lib/debug/.build-id/%.2s/%s*.debug", module->build, module->build + 2);
	return module->build[0] != '\0' && try_files(module, pattern);
}

static struct module *module_of(const char *name, const char *build)
{
	struct module *module;

	for (size_t i = 0; i < module_count; i++)
		if (strcmp(modules[i].name, name) == 0 && strcmp(modules[i].build, build) == 0)
			return &modules[i];
	modules = cli_realloc(modules, module_count + 1, sizeof(*modules));
	module = &modules[module_count++];
	*module = (struct module){ .name = strdup(name) };
	strcpy(module->build, build);
	if (find(module))
		return module;
	if (module->other != NULL)
		cli_error("symbolize: %s is not the build that the report is of (%s); name that one by --file", module->other,
			  build);
	else
		cli_error("symbolize: no file %s is found; name it by --file, or it was deleted", name);
	return module;
}

struct printer {
	FILE *out;
	const char *name, *file;
	int line;
	bool any;
};

static void print_function(const struct printer *function, const char *end)
{
	fprintf(function->out, "  %s", function->name);
	if (function->file != NULL && function->line > 0)
		fprintf(function->out, " %s:%d", function->file, function->line);
	fprintf(function->out, " %s\n", end);
}

/* Innermost first: all but the last are inlined. */
static void print(void *arg, const char *name, const char *file, int line)
{
	struct printer *last = arg;

	if (last->any) {
		print_function(last, "(inlined)");
		free((char *)last->name);
		free((char *)last->file);
	}
	*last = (struct printer){ last->out, strdup(name), file != NULL ? strdup(file) : NULL, line, true };
}

/* "(MODULE+0x2345 BUILD)" at the end of a line that begins with blanks; where it begins, or NULL. BUILD may be missing. */
static const char *place_in(const char *line, char *module, size_t room, uint64_t *offset, char build[BUILD + 1])
{
	const char *open = strrchr(line, '('), *plus = open != NULL ? strrchr(open, '+') : NULL;
	char *end;

	build[0] = '\0';
	if (strncmp(line, "  ", 2) != 0 || plus == NULL || strncmp(plus, "+0x", 3) != 0 || !isxdigit((unsigned char)plus[3]) ||
	    plus == open + 1 || (size_t)(plus - open) > room)
		return NULL;
	*offset = strtoull(plus + 1, &end, 16);
	if (*end == ' ' && strspn(end + 1, "0123456789abcdef") == BUILD) {
		snprintf(build, BUILD + 1, "%s", end + 1);
		end += 1 + BUILD;
	}
	if (strcmp(end, ")\n") != 0 && strcmp(end, ")") != 0)
		return NULL;
	snprintf(module, room, "%.*s", (int)(plus - open - 1), open + 1);
	return open;
}

/* false: it could not be read to the end. */
static bool symbolize(FILE *report, FILE *out)
{
	char *line = NULL, name[NAME_MAX + 1], end[NAME_MAX + 32], build[BUILD + 1];
	size_t room = 0;
	ssize_t length;
	bool exact = false; /* the address is the instruction's, not behind a call */

	while ((length = getline(&line, &room, report)) > 0) {
		struct printer last = { .out = out };
		uint64_t offset = 0;
		if (place_in(line, name, sizeof(name), &offset, build) != NULL) {
			const struct module *module = module_of(name, build);
			if (module->symbols != NULL)
				symbols_find(module->symbols, module->base + offset - !exact, print, &last);
		}
		if (last.any) {
			snprintf(end, sizeof(end), "(%s+0x%llx)", name, (unsigned long long)offset);
			print_function(&last, end);
			free((char *)last.name);
			free((char *)last.file);
		} else {
			fwrite(line, 1, (size_t)length, out); /* a program may say NUL, too */
		}
		exact = strstr(line, "access by thread") != NULL;
		fflush(out);
	}
	free(line);
	return !ferror(report);
}

/* ---- of a program that runs ---------------------------------------------------------------------- */

/*
 * What the terminal, or another, sends to all is the program's to judge: the reader ends when nobody has its pipe open any more.
 * It is born with these blocked, for the program may be there, and be sent one, before it runs.
 */
static pid_t fork_reader(void)
{
	static const int ending[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	sigset_t blocked, before;
	pid_t reader;

	sigemptyset(&blocked);
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
		sigaddset(&blocked, ending[i]);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	reader = fork();
	if (reader != 0)
		sigprocmask(SIG_SETMASK, &before, NULL);
	return reader;
}

bool run_whole_begin(struct run_whole *whole, const char *program)
{
	static char path[PATH_MAX];
	int ends[2];

	if (pipe(ends) != 0 || (whole->to = dup(STDERR_FILENO)) < 0 || (whole->reader = fork_reader()) < 0) {
		cli_error("run: %s", strerror(errno));
		return false;
	}
	if (whole->reader == 0) {
		FILE *report = fdopen(ends[0], "r");
		close(ends[1]);
		if (cli_find_program(program, path, sizeof(path))) {
			files = cli_realloc(NULL, 1, sizeof(*files));
			files[file_count++] = path;
		}
		if (report != NULL)
			symbolize(report, stderr);
		_exit(report == NULL);
	}
	fcntl(whole->to, F_SETFD, FD_CLOEXEC);
	dup2(ends[1], STDERR_FILENO);
	close(ends[0]);
	close(ends[1]);
	return true;
}

void run_whole_end(const struct run_whole *whole)
{
	dup2(whole->to, STDERR_FILENO); /* the last end of the pipe, but for programs that go on */
	while (waitpid(whole->reader, NULL, 0) < 0 && errno == EINTR)
		;
}

static int main_symbolize(int argc, char **argv)
{
	FILE *report = stdin;
	int c, status = 0;

	while ((c = cli_next_option(&cli_symbolize, argc, argv)) != -1) {
		if (c != 'f')
			return CLI_USAGE;
		if (access(optarg, R_OK) != 0) {
			cli_error("symbolize: %s: %s", optarg, strerror(errno));
			return CLI_FAILED;
		}
		files = cli_realloc(files, file_count + 1, sizeof(*files));
		files[file_count++] = optarg;
	}
	if (argc - optind > 1) {
		cli_error("symbolize: one report at a time");
		return CLI_USAGE;
	}
	if (optind < argc && (report = fopen(argv[optind], "r")) == NULL) {
		cli_error("symbolize: %s: %s", argv[optind], strerror(errno));
		return CLI_FAILED;
	}
	if (!symbolize(report, stdout)) {
		cli_error("symbolize: %s: %s", report != stdin ? argv[optind] : "standard input", strerror(errno));
		status = CLI_FAILED;
	}
	for (size_t i = 0; i < module_count; i++) {
		symbols_close(modules[i].symbols);
		free(modules[i].name);
		free(modules[i].other);
	}
	free(modules);
	free(files);
	if (report != stdin)
		fclose(report);
	return status;
}

static const struct cli_option options[] = {
	{ 'f', "file", "PATH", "a program or library that the report names; may be given several\n"
			       "times" },
	{ 0, NULL, NULL, NULL },
};

const struct cli_command cli_symbolize = {
	.name = "symbolize",
	.main = main_symbolize,
	.synopsis = "[OPTION]... [REPORT]",
	.summary = "functions, files and lines for a report's addresses",
	.about = "Copy REPORT, or what comes on standard input, and put functions, files and lines\n"
		 "where the library said MODULE+OFFSET BUILD.\n",
	.options = options,
};
