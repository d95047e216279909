/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * drystone run: set LD_PRELOAD, DRYSTONE_CONF and PYTHONMALLOC, then become the program. Because
 * it execs, the program has this process's id, gets its signals and gives its exit status.
 */
#include "cli.h"
#include "elf_file.h"
#include "run.h"

#include <drystone/drystone.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The libraries that can be loaded, by the name that --allocator takes; the first is the default. */
static const struct {
	const char *name, *library;
} allocators[] = {
	{ "drystone", "libdrystone.so" },
	{ "tiny", "libdrystone-tiny-malloc.so" },
	{ "sequential", "libdrystone-sequential-malloc.so" },
};

#define LEAKED    23 /* LeakSanitizer's exit status */
#define TEXT(x)   #x
#define SUFFIX(x) "." TEXT(x)
#define VERSIONED SUFFIX(DRY_VERSION_MAJOR)

/* Where the library is, seen from the command's folder. The last two are for an installed command. */
static const char *const places[] = { ".", DRY_BIN_TO_LIB, "../lib" };

struct run {
	const char *library, *conf, *fail;
	const char *name; /* of the library's file */
	bool stats, whole;
	struct run_profile profile;
	struct run_leaks leaks;
};

bool cli_find_library(const char *wanted, const char *name, char *path)
{
	char folder[PATH_MAX], candidate[PATH_MAX * 2];

	if (wanted != NULL) {
		if (realpath(wanted, path) != NULL && access(path, R_OK) == 0)
			return true;
		cli_error("cannot read the library %s: %s", wanted, strerror(errno));
		return false;
	}
	if (cli_own_folder(folder, sizeof(folder))) {
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
			/* Without the package for development there is only the name that has the version. */
			for (int plain = 1; plain >= 0; plain--) {
				snprintf(candidate, sizeof(candidate), "%s/%s/%s%s", folder, places[i], name,
					 plain ? "" : VERSIONED);
				if (realpath(candidate, path) != NULL && access(path, R_OK) == 0)
					return true;
			}
		}
	}
	cli_error("%s is neither next to this command nor in %s or ../lib from there; name it by --library", name,
		  DRY_BIN_TO_LIB);
	return false;
}

/* What the dynamic linker would refuse in silence, or with a line of its own, and then run the program without. */
static bool is_elf(const char *path)
{
	struct elf_file file;
	bool good = elf_file_open(&file, path) == ELF_FILE_OK;

	elf_file_close(&file);
	return good;
}

/* Set variable to "first<separator>second"; an empty or missing part is left out. */
static bool set_joined(const char *variable, const char *first, char separator, const char *second)
{
	size_t a = first != NULL ? strlen(first) : 0, b = second != NULL ? strlen(second) : 0;
	char *text = cli_realloc(NULL, 1, a + b + 2);
	int result;

	if (a != 0)
		memcpy(text, first, a);
	if (a != 0 && b != 0)
		text[a++] = separator;
	if (b != 0)
		memcpy(text + a, second, b);
	text[a + b] = '\0';
	result = setenv(variable, text, 1);
	free(text);
	if (result != 0)
		cli_error("cannot set %s: %s", variable, strerror(errno));
	return result == 0;
}

static bool add_options(const char *conf)
{
	return set_joined("DRYSTONE_CONF", getenv("DRYSTONE_CONF"), ',', conf);
}

static bool set_environment(struct run *run)
{
	char library[PATH_MAX];

	if (!cli_find_library(run->library, run->name, library))
		return false;
	if (strpbrk(library, " :") != NULL) {
		cli_error("the path of the library may not hold a space or colon (LD_PRELOAD): %s", library);
		return false;
	}
	if (!is_elf(library)) {
		cli_error("%s is no library of this machine", library);
		return false;
	}
	if (!set_joined("LD_PRELOAD", library, ':', getenv("LD_PRELOAD")))
		return false;
	/* Of any program, for it may start Python. */
	if (setenv("PYTHONMALLOC", "malloc", 0) != 0) {
		cli_error("cannot set PYTHONMALLOC: %s", strerror(errno));
		return false;
	}
	if (run->profile.output != NULL && (!run_profile_begin(&run->profile) || !add_options(run->profile.files.conf)))
		return false;
	if (run->leaks.wanted && (!run_leaks_begin(&run->leaks) || !add_options(run->leaks.files.conf)))
		return false;
	if (run->conf != NULL && !add_options(run->conf))
		return false;
	if (run->fail != NULL) {
		char conf[PATH_MAX];
		if (snprintf(conf, sizeof(conf), "fail:%s", run->fail) >= (int)sizeof(conf)) {
			cli_error("run: --fail: that is too long");
			return false;
		}
		if (!add_options(conf))
			return false;
	}
	return !run->stats || add_options("stats:1");
}

static bool choose(struct run *run, const char *name)
{
	for (size_t i = 0; i < sizeof(allocators) / sizeof(allocators[0]); i++) {
		if (strcmp(name, allocators[i].name) == 0) {
			run->name = allocators[i].library;
			return true;
		}
	}
	cli_error("run: no allocator \"%s\"; try `drystone run --help`", name);
	return false;
}

static bool read_status(const char *text, int *status)
{
	char *end;
	long value = strtol(text, &end, 10);

	*status = (int)value;
	if (end != text && *end == '\0' && value >= 0 && value <= 255)
		return true;
	cli_error("run: --exitcode takes a number from 0 to 255, not %s", text);
	return false;
}

/* -1: go on; else the exit status. */
static int parse(struct run *run, int argc, char **argv)
{
	int c;

	while ((c = cli_next_option(&cli_run, argc, argv)) != -1) {
		switch (c) {
		case 's':
			run->stats = true;
			break;
		case 'y':
			run->whole = true;
			break;
		case 'c':
			run->conf = optarg;
			break;
		case 'a':
			if (!choose(run, optarg))
				return CLI_RUN_FAILED;
			break;
		case 'f':
			if (!run_fail_is_good(optarg))
				return CLI_RUN_FAILED;
			run->fail = optarg;
			break;
		case 'p':
			run->profile.output = optarg;
			break;
		case 'L':
			run->leaks.wanted = true;
			break;
		case 'S':
			if (!suppress_read(&run->leaks.suppressions, optarg))
				return CLI_RUN_FAILED;
			break;
		case 'x':
			if (!read_status(optarg, &run->leaks.status))
				return CLI_RUN_FAILED;
			break;
		case 'l':
			run->library = optarg;
			break;
		default:
			return CLI_RUN_FAILED;
		}
	}
	if (run->leaks.wanted && run->profile.output != NULL) {
		cli_error("run: either --leaks or --profile");
		return CLI_RUN_FAILED;
	}
	if (run->name != allocators[0].library && (run->fail != NULL || run->leaks.wanted || run->profile.output != NULL)) {
		cli_error("run: --fail, --leaks and --profile are for the allocator %s alone", allocators[0].name);
		return CLI_RUN_FAILED;
	}
	if (optind < argc)
		return -1;
	cli_error("run: which program? Try `drystone run --help`");
	return CLI_RUN_FAILED;
}

static int run_program(const struct run *run, char **argv)
{
	pid_t child;
	int error;

	if (run->leaks.wanted)
		return run_leaks_program(&run->leaks, argv);
	if (run->profile.output != NULL)
		return run_profile_program(&run->profile, argv);
	if (run->whole)
		return run_child(argv, &child);
	execvp(argv[0], argv);
	error = errno;
	cli_error("cannot run %s: %s", argv[0], strerror(error));
	return error == ENOENT ? CLI_NOT_FOUND : CLI_NOT_EXECUTABLE;
}

static int main_run(int argc, char **argv)
{
	struct run run = { .name = allocators[0].library, .leaks.status = LEAKED };
	struct run_whole whole;
	int status;

	status = parse(&run, argc, argv);
	if (status >= 0)
		return status;
	/* Before the library gets into the environment: the reader is no program under test. */
	if (run.whole && !run_whole_begin(&whole, argv[optind]))
		return CLI_RUN_FAILED;
	if (set_environment(&run)) {
		cli_warn_if_not_loaded(argv[optind]);
		status = run_program(&run, argv + optind);
	} else {
		status = CLI_RUN_FAILED;
	}
	if (run.whole)
		run_whole_end(&whole);
	return status;
}

static const struct cli_option options[] = {
	{ 's', "stats", NULL, "print the slab listing to standard error when the program exits" },
	{ 'c', "conf", "STRING", "options of the library, \"name:value,name:value\"; goes after\n"
				 "what DRYSTONE_CONF holds already" },
	{ 'f', "fail", "WHICH", "let allocations fail: nth=N, every=N or chance=N (in a million,\n"
				"seed=N), of cache=NAME or site=FUNCTION, say (each one);\n"
				"joined by slashes" },
	{ 'p', "profile", "FILE", "which functions allocated how much, when it has ended: .pb.gz for\n"
				  "pprof, .folded, .html, else a table; %p in its name: one of\n"
				  "each process" },
	{ 'L', "leaks", NULL, "which blocks are lost when it has ended, by call site" },
	{ 'S', "suppressions", "FILE", "of them, leave out those that a line leak:PATTERN is for, as\n"
				       "LeakSanitizer does" },
	{ 'x', "exitcode", "N", "the exit status if blocks are lost; 23 unless said otherwise,\n"
				"0: the program's" },
	{ 'y', "symbolize", NULL, "functions, files and lines in reports: its standard error passes\n"
				  "through `drystone symbolize`" },
	{ 'a', "allocator", "NAME", "drystone (the default); tiny: the allocator for small machines;\n"
				    "sequential: what that one replaces" },
	{ 'l', "library", "PATH", "the library to load" },
	{ 0, NULL, NULL, NULL },
};

const struct cli_command cli_run = {
	.name = "run",
	.main = main_run,
	.synopsis = "[OPTION]... [--] PROGRAM [ARGUMENT]...",
	.summary = "run a program with drystone as its malloc",
	.about = "Run PROGRAM with drystone as its malloc.\n",
	.options = options,
	.notes = "The exit status is the program's, or that of --exitcode; 127 if it was not found,\n"
		 "126 if it could not be executed, 125 if drystone itself failed.\n",
	.program_follows = true,
};
