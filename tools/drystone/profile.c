/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* drystone profile: which functions hold a program's memory, by a sample of its allocations. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* process_vm_writev */
#endif
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "input.h"
#include "output.h"
#include "profile.h"
#include "source.h"

#define RATE_MIN 1u
#define RATE_MAX 1000000000u
#define LOOK     0.1 /* seconds between two looks at whether the process is there */

struct options {
	double seconds; /* < 0: only look */
	uint32_t rate;
	enum profile_value value;
	const char *output; /* NULL: a table */
};

/* ---- a process ------------------------------------------------------------------------------------ */

struct subject {
	struct target target;
	struct dry_inspect layout;
	struct source source;
};

static bool open_subject(struct subject *subject, const char *text)
{
	enum target_result result = TARGET_OK;
	const char *error = NULL;

	if (!source_parse(&subject->source, text)) {
		cli_error("profile: no process and no file: %s", text);
		return false;
	}
	if (subject->source.path != NULL)
		error = target_open_core(&subject->target, subject->source.path);
	else
		result = target_open(&subject->target, subject->source.pid);
	if (error == NULL && result == TARGET_OK)
		result = target_find_layout(&subject->target, true, &subject->layout);
	if (error != NULL)
		cli_error("profile: %s: it is no heap profile, nor is it read as a core file: %s", text, error);
	if (error == NULL && result != TARGET_OK) {
		source_explain(&subject->source, result, &subject->layout);
		cli_error("%s", subject->source.error);
	}
	if (error == NULL && result == TARGET_OK)
		return true;
	target_close(&subject->target);
	return false;
}

/*
 * The process does what it is asked for at its next allocation: that is no hit, as no size is below the limit. The request is
 * written last, and takes the limit back, so that a process never stays without hits.
 */
static bool put_request(const struct subject *subject, uint32_t request)
{
	uint64_t head = (uint64_t)(uintptr_t)subject->layout.profile, limit = 0;
	size_t none = 0;
	struct iovec from[2] = { { &none, sizeof(none) }, { &request, sizeof(request) } }, to[2] = { from[0], from[1] };

	if (!target_read(&subject->target, head + offsetof(struct dry_inspect_profile, limit), &limit, sizeof(limit)) || limit == 0)
		from[0].iov_len = to[0].iov_len = 0; /* it has not allocated yet, or has no hits */
	to[0].iov_base = (void *)(uintptr_t)limit;
	to[1].iov_base = (void *)(uintptr_t)(head + offsetof(struct dry_inspect_profile, request));
	return process_vm_writev(subject->target.thread, from, 2, to, 2, 0) == (ssize_t)(from[0].iov_len + sizeof(request));
}

/*
 * What was loaded meanwhile is known afterwards, and which thread is there, when the first one has ended. NOT_DRYSTONE: it is
 * another program now.
 */
static enum target_result open_anew(struct subject *subject)
{
	const void *profile = subject->layout.profile;
	enum target_result result;

	target_close(&subject->target);
	result = target_open(&subject->target, subject->source.pid);
	if (result == TARGET_OK)
		result = target_find_layout(&subject->target, true, &subject->layout);
	return result == TARGET_OK && subject->layout.profile != profile ? TARGET_NOT_DRYSTONE : result;
}

static bool open_after(struct subject *subject, double seconds)
{
	enum target_result result = open_anew(subject);

	if (result == TARGET_NO_PERMISSION) {
		source_explain(&subject->source, result, &subject->layout);
		cli_error("%s", subject->source.error);
	} else if (result != TARGET_OK) {
		cli_error("profile: process %d %s after %.1f s, its samples with it; try `drystone run --profile`",
			  (int)subject->source.pid, source_is_there(&subject->source) ? "became another program" : "ended",
			  seconds);
	}
	return result == TARGET_OK;
}

static bool ask(struct subject *subject, uint32_t request)
{
	int error;

	if (put_request(subject, request))
		return true;
	error = errno;
	if (error == ESRCH && open_anew(subject) == TARGET_OK && put_request(subject, request))
		return true;
	cli_error("profile: process %d cannot be asked for samples: %s", (int)subject->source.pid, strerror(error));
	return false;
}

static bool look(const struct subject *subject, struct profile *profile)
{
	const char *wrong = profile_read(profile, &subject->target, &subject->layout);

	if (wrong != NULL)
		cli_error("profile: %s", wrong);
	return wrong == NULL;
}

/* Until the process ends at most. Returns for how long. */
static double wait_for(const struct source *source, double seconds)
{
	double begin = cli_now(), left;

	while (left = begin + seconds - cli_now(), left > 0 && !cli_interrupted && source_is_there(source))
		nanosleep(&(struct timespec){ .tv_nsec = (long)((left < LOOK ? left : LOOK) * 1e9) }, NULL);
	return cli_now() - begin;
}

/* Sampled for a while: what was allocated meanwhile, and what of all that was sampled is in use at the end. */
static bool watch(struct subject *subject, const struct options *options, struct profile *profile)
{
	struct profile before = { 0 };
	bool done = look(subject, &before), asked = false;
	double seconds = 0;

	/* ^C ends the wait, and not the command: it would leave the process taking samples for ever */
	cli_catch_signals((const int[]){ SIGINT, SIGTERM, SIGHUP, 0 });
	if (done && !before.on)
		done = asked = ask(subject, options->rate);
	if (done)
		seconds = wait_for(&subject->source, options->seconds);
	if (done) {
		done = open_after(subject, seconds);
		asked &= done;
	}
	if (done)
		done = look(subject, profile);
	if (asked)
		ask(subject, DRY_INSPECT_PROFILE_OFF);
	if (done && !profile->on && asked) {
		cli_error("profile: process %d made no allocation by malloc meanwhile; or it runs with debug, fail or secure",
			  (int)subject->source.pid);
		done = false;
	}
	if (done && !profile->on)
		fputs("drystone: profile: note: who asked for the samples has ended them; what came after is not in it\n", stderr);
	if (done)
		profile_since(profile, &before);
	profile->seconds = seconds;
	profile_free(&before);
	return done;
}

/* ---- input ------------------------------------------------------------------------------------------- */

static bool ends_in(const char *text, const char *end)
{
	size_t a = strlen(text), b = strlen(end);

	return a >= b && strcmp(text + a - b, end) == 0;
}

/* A file that the library wrote, or a profile.proto: gzip's first bytes, or by its name. */
static bool is_profile(FILE *file, const char *path)
{
	char start[14] = "";
	size_t bytes = fread(start, 1, sizeof(start), file);

	return (bytes == sizeof(start) && memcmp(start, "heap profile: ", sizeof(start)) == 0) ||
	       (bytes >= 2 && memcmp(start, "\x1f\x8b", 2) == 0) || (bytes > 0 && ends_in(path, ".pb"));
}

const char *profile_load(struct profile *profile, FILE *file)
{
	const char *wrong = NULL;

	rewind(file);
	if (getc(file) != 'h')
		return profile_read_pb(profile, file);
	rewind(file);
	wrong = profile_read_file(profile, file);
	if (wrong == NULL) {
		profile_scale(profile);
		profile_symbolise(profile);
	}
	return wrong;
}

static bool read_file(const char *path, FILE *file, struct profile *profile)
{
	const char *wrong = file != NULL ? profile_load(profile, file) : strerror(errno);

	if (wrong != NULL)
		cli_error("profile: %s: %s", path, wrong);
	return wrong == NULL;
}

/* title: of a process, with its program's name. */
static bool read_subject(const char *text, const struct options *options, struct profile *profile, char *title, size_t size)
{
	struct subject subject = { .layout = { .version = 0 } };
	bool done = open_subject(&subject, text);

	if (!done)
		return false;
	snprintf(title, size, "%s, %s%s", subject.target.program, subject.source.path != NULL ? "" : "process ", text);
	if (options->seconds < 0 || subject.source.path != NULL)
		done = look(&subject, profile);
	else
		done = watch(&subject, options, profile);
	if (done && profile->mean == 0) {
		cli_error("profile: %s takes no samples; --seconds asks it to, DRYSTONE_CONF=profile:BYTES from the start",
			  text);
		done = false;
	}
	if (done) {
		profile_scale(profile);
		profile_symbolise(profile);
	}
	target_close(&subject.target);
	return done;
}

/* ---- output ------------------------------------------------------------------------------------------ */

static bool is_pb(const char *path)
{
	return ends_in(path, ".gz") || ends_in(path, ".pb");
}

bool profile_can_write(const char *path)
{
	const char *why = is_pb(path) && !profile_has_pb() ? "this command was built without zlib" : NULL;

	if (why == NULL && !output_is_possible(path))
		why = strerror(errno);
	if (why != NULL)
		cli_error("profile: %s cannot be written: %s", path, why);
	return why == NULL;
}

static bool write_output(const struct profile *profile, const struct options *options, const char *title)
{
	const char *path = options->output;
	FILE *file;

	if (path == NULL) {
		profile_print(profile, options->value, stdout);
		return true;
	}
	file = output_open(path);
	if (file != NULL && is_pb(path))
		profile_print_pb(profile, options->value, file);
	else if (file != NULL && ends_in(path, ".html"))
		profile_print_page(profile, options->value, title, file);
	else if (file != NULL && ends_in(path, ".folded"))
		profile_print_folded(profile, options->value, file);
	else if (file != NULL)
		profile_print(profile, options->value, file);
	if (file != NULL && output_close(file))
		return true;
	cli_error("profile: %s cannot be written: %s", path, strerror(errno));
	return false;
}

int profile_show_file(const char *from, const char *output)
{
	struct options options = { .seconds = -1, .value = ALL_BYTES, .output = output };
	struct profile profile = { 0 };
	FILE *file = fopen(from, "r");
	bool done = read_file(from, file, &profile) && write_output(&profile, &options, from);

	if (file != NULL)
		fclose(file);
	profile_free(&profile);
	return done ? 0 : CLI_FAILED;
}

static bool number(const char *text, double min, double max, double *value)
{
	char *end;

	*value = strtod(text, &end);
	if (end != text && *end == '\0' && *value >= min && *value <= max)
		return true;
	cli_error("profile: \"%s\" is no number from %.15g to %.15g", text, min, max);
	return false;
}

static int main_profile(int argc, char **argv)
{
	struct options options = { .seconds = -1, .rate = 512 << 10, .value = LIVE_BYTES };
	struct profile profile = { 0 };
	char title[PATH_MAX + 64];
	FILE *file;
	double rate;
	bool done, of_file;
	int c;

	while ((c = cli_next_option(&cli_profile, argc, argv)) != -1) {
		if (c == 's' && !number(optarg, 0.01, 86400, &options.seconds))
			return CLI_USAGE;
		if (c == 'r' && !number(optarg, RATE_MIN, RATE_MAX, &rate))
			return CLI_USAGE;
		if (c == 'r')
			options.rate = (uint32_t)rate;
		if (c == 'a')
			options.value = ALL_BYTES;
		if (c == 'o')
			options.output = optarg;
		if (c == '?')
			return CLI_USAGE;
	}
	if (optind + 1 != argc) {
		cli_error("profile: which process or file? Try `drystone profile --help`");
		return CLI_USAGE;
	}
	if (options.output != NULL && !profile_can_write(options.output))
		return CLI_FAILED;
	snprintf(title, sizeof(title), "%s", argv[optind]);
	file = input_open(argv[optind]);
	of_file = file != NULL && is_profile(file, argv[optind]);
	done = of_file && read_file(argv[optind], file, &profile);
	if (file != NULL)
		fclose(file);
	if (!of_file)
		done = read_subject(argv[optind], &options, &profile, title, sizeof(title));
	if (done && profile.count == 0)
		fprintf(stderr, "drystone: profile: note: not one sample; a smaller --rate takes more\n");
	done = done && write_output(&profile, &options, title);
	profile_free(&profile);
	return done ? 0 : CLI_FAILED;
}

static const struct cli_option options[] = {
	{ 's', "seconds", "N", "let the process take samples for N seconds; what was allocated in\n"
			       "all is of that time" },
	{ 'r', "rate", "BYTES", "one sample every BYTES on average; 524288 unless said otherwise" },
	{ 'a', "all", NULL, "what was allocated in all, and not what is in use" },
	{ 'o', "output", "FILE", "by the end of its name: .pb.gz for pprof, .folded for flame graph\n"
				 "tools, .html a page with a flame graph; else a table" },
	{ 0, NULL, NULL, NULL },
};

const struct cli_command cli_profile = {
	.name = "profile",
	.main = main_profile,
	.synopsis = "[OPTION]... PID | CORE | FILE",
	.summary = "which functions hold a program's memory, by samples",
	.about = "Show the heap profile of a process, of a core file, or of a FILE: one that the library wrote\n"
		 "(DRYSTONE_CONF=profile:BYTES,profile_file:FILE), or a .pb.gz of this command.\n",
	.options = options,
	.notes = "A process is asked for samples by a word in its memory, and takes them from its next\n"
		 "allocations on; it is not stopped. Only what it allocated since is in the profile. ^C ends\n"
		 "the wait early.\n",
};
