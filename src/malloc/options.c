/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "malloc/options.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/fatal.h"
#include "base/fmt.h"
#include "debug/fail.h"
#include "debug/object.h"
#include "debug/secure.h"
#include "debug/select.h"
#include "malloc/policy.h"
#include "port/contract.h"
#include "port/save.h"

bool dry_option_check;
bool dry_option_stats;
bool dry_option_annotate = DRY_ANNOTATE;
bool dry_option_deepbind;
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
unsigned dry_option_decay_ms = 2000;
unsigned dry_option_profile;
unsigned dry_option_profile_signal;
char dry_option_profile_file[DRY_OPTION_PATH];
char dry_option_leaks_file[DRY_OPTION_PATH];
char dry_option_metrics[DRY_OPTION_PATH];
unsigned dry_option_metrics_ms = 10000;

#define SOCKET "unix:"

static bool set_path(char *path, const char *from, const char *end)
{
	size_t length = (size_t)(end - from), socket = sizeof(SOCKET) - 1;

	if (from == end)
		return false;
	memcpy(path, from, length);
	path[length] = '\0';
	if (path == dry_option_metrics && length >= socket && memcmp(path, SOCKET, socket) == 0)
		dry_port_from_root(path + socket, DRY_OPTION_SOCKET);
	else
		dry_port_from_root(path, DRY_OPTION_PATH);
	return true;
}

static bool set_log(const char *from, const char *end)
{
	char path[DRY_OPTION_PATH];

	if (!set_path(path, from, end))
		return false;
	dry_port_log_to(path, strlen(path));
	return true;
}

#define TEXT        (DRY_OPTION_PATH - 1)
#define FAIL_VALUES "nth=N every=N chance=N seed=N cache=NAME site=FUNCTION say, with slashes between them"

/* When an option may be set: what START changes is in use from then on. */
enum { START, ANYTIME };

static const struct option {
	const char *name;
	int when;
	bool *flag;                                      /* one of these four: a switch, 0 or 1 */
	unsigned *number;                                /* from min to max */
	char *path;                                      /* of DRY_OPTION_PATH */
	bool (*text)(const char *from, const char *end); /* false: bad value */
	unsigned min, max;
	unsigned longest;                                /* of a text or path: bytes; 0: any */
	const char *values;                              /* what is allowed, in words */
} table[] = {
	{ "abort", ANYTIME, .flag = &dry_fatal_aborts },
	{ "annotate", START, .flag = &dry_option_annotate },
	{ "background", ANYTIME, .flag = &dry_option_background },
	{ "check", START, .flag = &dry_option_check },
	{ "debug", START, .text = dry_debug_select, .values = "letters of FZPUTQ, perhaps with /cache or /cach*; 16 times" },
	{ "decay_ms", ANYTIME, .number = &dry_option_decay_ms, .min = 10, .max = 3600000 },
	{ "deepbind", ANYTIME, .flag = &dry_option_deepbind },
	{ "exit_check", ANYTIME, .flag = &dry_option_exit_check },
	{ "fail", START, .text = dry_fail_select, .longest = TEXT, .values = FAIL_VALUES },
	{ "guard", ANYTIME, .flag = &dry_option_guard },
	{ "guard_rate", ANYTIME, .number = &dry_option_guard_rate, .min = 1, .max = 1000000000 },
	{ "leaks", START, .flag = &dry_option_leaks },
	{ "leaks_file", START, .path = dry_option_leaks_file, .longest = TEXT, .values = "a path" },
	{ "limit", ANYTIME, .text = dry_policy_limit, .values = "bytes, perhaps with K, M or G; 1% to 100%; or 0" },
	{ "log", START, .text = set_log, .longest = TEXT, .values = "a path" },
	{ "metrics", START, .path = dry_option_metrics, .longest = TEXT, .values = "a path" },
	{ "metrics_ms", START, .number = &dry_option_metrics_ms, .min = 10, .max = 3600000 },
	{ "numa", ANYTIME, .text = dry_policy_nodes, .values = "local, interleave or off" },
	{ "profile", START, .number = &dry_option_profile, .min = 1, .max = 1000000000 },
	{ "profile_file", START, .path = dry_option_profile_file, .longest = TEXT, .values = "a path" },
	{ "profile_signal", START, .number = &dry_option_profile_signal, .min = 1, .max = 64 },
	{ "secure", START, .flag = &dry_option_secure },
	{ "stats", START, .flag = &dry_option_stats },
	{ "tags", START, .text = dry_policy_tags, .values = "never, sync or async" },
	{ "thp", ANYTIME, .text = dry_policy_huge, .values = "system, never, always or auto" },
	{ "zero", START, .flag = &dry_secure_zero },
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

/* values: what would be good. */
static void bad(const char *what, const char *from, const char *end, const char *values)
{
	char text[64];
	size_t n = (size_t)(end - from) < sizeof(text) ? (size_t)(end - from) : sizeof(text) - 1;

	for (size_t i = 0; i < n; i++) /* the warning is one line, whatever the text */
		text[i] = from[i] >= ' ' && from[i] <= '~' ? from[i] : '?';
	text[n] = '\0';
	dry_warn("DRYSTONE_CONF: %s: %s (%s)", what, text, values);
}

static const struct option *find(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strlen(table[i].name) == length && memcmp(table[i].name, name, length) == 0)
			return &table[i];
	return NULL;
}

static bool is_too_long(const struct option *option, const char *from, const char *end)
{
	return option->longest != 0 && (size_t)(end - from) > option->longest;
}

/* Its value is not taken. */
static void refuse(const struct option *option, const char *from, const char *value, const char *end)
{
	bool too_long = is_too_long(option, value, end);
	char range[32] = "0 or 1";

	if (option->number != NULL)
		dry_format(range, sizeof(range), "%u to %u", option->min, option->max);
	if (too_long)
		dry_format(range, sizeof(range), "%u bytes at most", option->longest);
	bad(too_long ? "too long" : "bad value", from, end, option->values != NULL && !too_long ? option->values : range);
}

/* false: bad value. Relaxed: others may read it at the same time, and take the old or the new value. */
static bool set(const struct option *option, const char *from, const char *end)
{
	unsigned value;

	if (is_too_long(option, from, end))
		return false;
	if (option->text != NULL)
		return option->text(from, end);
	if (option->path != NULL)
		return set_path(option->path, from, end);
	if (!number(from, end, option->flag != NULL ? 1 : option->max, &value) || value < option->min)
		return false;
	if (option->flag != NULL)
		__atomic_store_n(option->flag, value != 0, __ATOMIC_RELAXED);
	else
		__atomic_store_n(option->number, value, __ATOMIC_RELAXED);
	return true;
}

static void parse(const char *from, const char *end)
{
	const char *colon = memchr(from, ':', (size_t)(end - from));
	const struct option *option = colon != NULL ? find(from, (size_t)(colon - from)) : NULL;

	if (colon == NULL)
		bad("no value", from, end, "name:value is expected");
	else if (option == NULL)
		bad("unknown option", from, end, "drystone(7) has them");
	else if (!set(option, colon + 1, end))
		refuse(option, from, colon + 1, end);
}

int dry_options_set(const char *name, const char *value)
{
	const struct option *option = find(name, strlen(name));

	if (option == NULL)
		return -DRY_EINVAL;
	if (option->when == START)
		return -DRY_EBUSY;
	return set(option, value, value + strlen(value)) ? 0 : -DRY_EINVAL;
}

void dry_options_write_nothing(void)
{
	dry_option_profile = dry_option_profile_signal = 0;
	dry_option_profile_file[0] = dry_option_leaks_file[0] = dry_option_metrics[0] = '\0';
}

void dry_options_parse(const char *conf)
{
	while (conf != NULL && *conf != '\0') {
		const char *end = strchr(conf, ',');
		if (end == NULL)
			end = conf + strlen(conf);
		if (end != conf)
			parse(conf, end);
		conf = *end == ',' ? end + 1 : end;
	}
}
