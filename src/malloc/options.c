/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "malloc/options.h"

#include <stddef.h>
#include <string.h>

#include "base/fatal.h"
#include "debug/fail.h"
#include "debug/secure.h"
#include "debug/select.h"
#include "port/contract.h"

bool dry_option_check;
bool dry_option_stats;
bool dry_option_annotate = DRY_ANNOTATE;
bool dry_option_leaks;
bool dry_option_background = true;
#ifdef DRY_SECURE
bool dry_option_secure = true;
#else
bool dry_option_secure;
#endif
bool dry_option_guard;
bool dry_option_exit_check = true;
unsigned dry_option_guard_rate = 100000;
unsigned dry_option_decay_ms = 500;
unsigned dry_option_profile;
unsigned dry_option_profile_signal;
char dry_option_profile_file[DRY_OPTION_PATH];
char dry_option_metrics[DRY_OPTION_PATH];
unsigned dry_option_metrics_ms = 10000;

static bool set_log(const char *from, const char *end)
{
	if (from == end || end - from > 255)
		return false;
	dry_port_log_to(from, (size_t)(end - from));
	return true;
}

static bool set_path(char *path, const char *from, const char *end)
{
	if (from == end || end - from >= DRY_OPTION_PATH)
		return false;
	memcpy(path, from, (size_t)(end - from));
	path[end - from] = '\0';
	return true;
}

static bool set_profile_file(const char *from, const char *end)
{
	return set_path(dry_option_profile_file, from, end);
}

static bool set_metrics(const char *from, const char *end)
{
	return set_path(dry_option_metrics, from, end);
}

/* min and max of a switch are 0 and 1, of a text 0 and 0. */
static const struct option {
	const char *name;
	bool *flag;
	unsigned *number;
	bool (*text)(const char *from, const char *end); /* false: bad value */
	unsigned min, max;
} table[] = {
	{ "abort", &dry_fatal_aborts, NULL, NULL, 0, 1 },
	{ "annotate", &dry_option_annotate, NULL, NULL, 0, 1 },
	{ "background", &dry_option_background, NULL, NULL, 0, 1 },
	{ "check", &dry_option_check, NULL, NULL, 0, 1 },
	{ "debug", NULL, NULL, dry_debug_select, 0, 0 },
	{ "decay_ms", NULL, &dry_option_decay_ms, NULL, 10, 3600000 },
	{ "exit_check", &dry_option_exit_check, NULL, NULL, 0, 1 },
	{ "fail", NULL, NULL, dry_fail_select, 0, 0 },
	{ "guard", &dry_option_guard, NULL, NULL, 0, 1 },
	{ "guard_rate", NULL, &dry_option_guard_rate, NULL, 1, 1000000000 },
	{ "leaks", &dry_option_leaks, NULL, NULL, 0, 1 },
	{ "log", NULL, NULL, set_log, 0, 0 },
	{ "metrics", NULL, NULL, set_metrics, 0, 0 },
	{ "metrics_ms", NULL, &dry_option_metrics_ms, NULL, 10, 3600000 },
	{ "profile", NULL, &dry_option_profile, NULL, 1, 1000000000 },
	{ "profile_file", NULL, NULL, set_profile_file, 0, 0 },
	{ "profile_signal", NULL, &dry_option_profile_signal, NULL, 1, 64 },
	{ "secure", &dry_option_secure, NULL, NULL, 0, 1 },
	{ "stats", &dry_option_stats, NULL, NULL, 0, 1 },
	{ "zero", &dry_secure_zero, NULL, NULL, 0, 1 },
};

/* Whole decimal number in [text, end); false if it is none or above max. */
static bool number(const char *text, const char *end, unsigned max, unsigned *value)
{
	unsigned long long n = 0;

	if (text == end)
		return false;
	for (; text < end; text++) {
		if (*text < '0' || *text > '9' || n > max)
			return false;
		n = n * 10 + (unsigned)(*text - '0');
	}
	*value = (unsigned)n;
	return n <= max;
}

static void bad(const char *what, const char *from, const char *end)
{
	char text[64];
	size_t n = (size_t)(end - from) < sizeof(text) ? (size_t)(end - from) : sizeof(text) - 1;

	for (size_t i = 0; i < n; i++) /* the warning is one line, whatever the text */
		text[i] = from[i] >= ' ' && from[i] <= '~' ? from[i] : '?';
	text[n] = '\0';
	dry_warn("DRYSTONE_CONF: %s: %s", what, text);
}

static void set(const char *from, const char *end)
{
	const char *colon = memchr(from, ':', (size_t)(end - from));
	unsigned value;

	if (colon == NULL) {
		bad("no value (name:value is expected)", from, end);
		return;
	}
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct option *option = &table[i];
		if (strlen(option->name) != (size_t)(colon - from) ||
		    memcmp(option->name, from, (size_t)(colon - from)) != 0)
			continue;
		if (option->text != NULL) {
			if (!option->text(colon + 1, end))
				bad("bad value", from, end);
			return;
		}
		if (!number(colon + 1, end, option->max, &value) || value < option->min)
			bad("bad value", from, end);
		else if (option->flag != NULL)
			*option->flag = value != 0;
		else
			*option->number = value;
		return;
	}
	bad("unknown option", from, end);
}

void dry_options_parse(const char *conf)
{
	while (conf != NULL && *conf != '\0') {
		const char *end = strchr(conf, ',');
		if (end == NULL)
			end = conf + strlen(conf);
		if (end != conf)
			set(conf, end);
		conf = *end == ',' ? end + 1 : end;
	}
}
