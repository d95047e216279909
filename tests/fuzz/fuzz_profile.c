/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * DRY_TEST_NO_SANITIZER: it needs the malloc override.
 *
 * The malloc family under the settings of a process: an input begins with a DRYSTONE_CONF, which a child process takes as the
 * library does when it is loaded; then come the calls of the target `malloc`, errors that these settings promise to
 * report (each gives exactly one line), sampling that is switched on and off, and the end of the process, which must
 * find in order what is still allocated, or report the one overflow that is there.
 */
#include <errno.h>
#include <malloc.h>
#include <string.h>

#include <drystone/drystone.h>

#include "base/fatal.h"
#include "child.h"
#include "core/cache.h"
#include "debug/fail.h"
#include "debug/hooks.h"
#include "guard/guard.h"
#include "debug/object.h"
#include "debug/secure.h"
#include "debug/select.h"
#include "faults.h"
#include "malloc/general.h"
#include "malloc/options.h"
#include "malloc/print.h"
#include "malloc/profile.h"
#include "malloc_ops.h"

void free_sized(void *block, size_t size);
/* libFuzzer takes exit() within a target for an error of the target. */
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*target)(const uint8_t *data, size_t size)) __attribute__((weak));

static struct input input;
static bool secure;  /* every error of a watched block is promised to be found */
static bool zoned;   /* all blocks have red zones: only sized frees are looked at here */
static bool cramped; /* there was not enough address space to watch all */

/* ---- settings ------------------------------------------------------------------------------- */

static char conf[512];

static void append(const char *text)
{
	EXPECT(strlen(conf) + strlen(text) < sizeof(conf));
	strcat(conf, text);
}

static void append_number(const char *name, unsigned value)
{
	char text[64];

	snprintf(text, sizeof(text), "%s%u", name, value);
	append(text);
}

static void append_debug(unsigned letters)
{
	static const char names[] = "FZPUQT";

	append(",debug:");
	for (unsigned i = 0; i < 6; i++)
		if (letters >> i & 1)
			append((char[]){ names[i], '\0' });
	append(letters & 64 ? "/kmalloc-*" : letters & 128 ? "/kmalloc-64" : "");
}

static void append_fail(unsigned how)
{
	static const char *const filters[] = { "", "/cache=kmalloc-64", "/cache=big", "/site=in_child" };

	append_number(how & 1 ? ",fail:every=" : how & 2 ? ",fail:nth=" : ",fail:seed=3/chance=100", 2 + (how >> 4));
	append(filters[how >> 2 & 3]);
	append(how & 128 ? "/say" : "");
}

static void settings(void)
{
	unsigned how = input_8(&input);

	strcpy(conf, "abort:0,background:0");
	append(how & 1 ? ",secure:1" : "");
	append(how & 2 ? ",guard:1" : "");
	append(how & 4 ? ",zero:0" : "");
	append(how & 8 ? ",leaks:1" : "");
	append(how & 16 ? ",stats:1" : "");
	append((how & 0x60) == 0x60 ? ",exit_check:0" : "");
	unsigned rate = input_8(&input);

	append_number(",guard_rate:", 1 + rate);
	append(rate % 4 == 1 ? ",check:1" : "");
	if ((how & 0x60) == 0x20) {
		unsigned letters = input_8(&input);

		append_debug(letters);
		zoned = (letters & 0x3f) == 0 || (letters & 2);
		zoned &= letters < 64 && !(how & 0x80);
	}
	if ((how & 0xe0) == 0x80)
		append_fail(input_8(&input));
}

/* As when the library is loaded. Those who allocated before have blocks of the settings before. */
static void take_settings(void)
{
	dry_options_parse(conf);
	EXPECT(faults.reports == 0);
	cramped = input_8(&input) == 0xff;
	faults.room = cramped ? (size_t)1 << 30 : 0;
	faults.fail = cramped ? input_64(&input) : 0;
	if (dry_profile_start())
		dry_general_forget(&dry_main_heap);
	if (cramped) /* what there is no room for is said */
		faults.reports = 0;
	faults.room = faults.fail = 0;
	world.may_fail = dry_fail_selects();
	secure = dry_option_secure && !dry_debug_selects() && !dry_fail_selects() && dry_secure_zero;
}

/* ---- errors, each in a block that was just given out -------------------------------------------- */

static void expect_line(unsigned before, const char *what)
{
	EXPECT(faults.reports == before + 1);
	EXPECT(strstr(faults.line, what));
	faults.reports--;
}

/* All that fit a class are; a page of their own others get while there are any. */
static bool is_watched(void *block, size_t size)
{
	bool watched = dry_general_usable(&dry_main_heap, block) == size; /* else it has no note */

	EXPECT(watched || size > DRY_CLASS_MAX - 8 || faults.refused || faults.fail || cramped);
	return watched;
}

/* Write the byte behind a block, where the pages of a guarded one do not end with it. */
static bool overrun(unsigned char *at, size_t size)
{
	if (dry_guard_contains(at) && ((uintptr_t)at + size) % 4096 == 0)
		return false;
	at[size] ^= 0x55;
	return true;
}

static void error(struct input *in)
{
	unsigned how = input_8(in), before = faults.reports;
	size_t size = 1 + input_size(in, 17);
	unsigned char *at = malloc(size);

	if (at && zoned && size <= 10000) {
		free_sized(at, size + 1);
		expect_line(before, "wrong size on sized free");
	}
	if (!at || !secure || !is_watched(at, size)) {
		free(at);
		return;
	}
	errno = 77;
	switch (how % 6) {
	case 0:
		free(at);
		if (how & 128)
			free_sized(at, size);
		else
			free(at);
		expect_line(before, "free");
		break;
	case 1:
		free_sized(at, size + 1 + how);
		expect_line(before, "wrong size on sized free");
		free(at);
		break;
	case 2: /* where it ends before its pages do */
		if (overrun(at, size)) {
			free(at);
			expect_line(before, "written beyond its end");
		} else {
			free(at);
		}
		break;
	case 3:
		free(at + 1);
		EXPECT(faults.reports == before + 1);
		faults.reports--;
		free(at);
		break;
	case 4:
		EXPECT(realloc(at + 1, size) == NULL);
		EXPECT(faults.reports == before + 1);
		faults.reports--;
		errno = 77;
		free(at);
		break;
	default:
		free(at);
		EXPECT(malloc_usable_size(at) == 0);
		EXPECT(faults.reports >= before + 1);
		faults.reports = before;
	}
	EXPECT(errno == 77);
	EXPECT(faults.reports == before);
}

/* ---- typed caches are secure, too ----------------------------------------------------------------- */

static void typed(struct input *in)
{
	struct dry_cache_attr attr = { .name = "typed", .size = 1 + input_size(in, 12) };
	unsigned before = faults.reports, how = input_8(in);
	dry_cache *cache = dry_cache_create(NULL, &attr);
	void *at = cache ? dry_cache_alloc(cache) : NULL;

	if (at) {
		dry_cache_free(cache, at);
		if (how & 1 && secure && cache->root->flags & DRY_CACHE_SECURE) {
			dry_cache_free(cache, at);
			expect_line(before, "free");
		}
	}
	EXPECT(dry_cache_destroy(cache) == 0);
	EXPECT(faults.reports == before);
}

static void op_rare(struct input *in, unsigned what)
{
	unsigned before = faults.reports;
	int rc;

	switch (what) {
	case 4:
		EXPECT(dry_guard(0) == 0);
		break;
	case 5:
	case 6:
		rc = dry_guard(1 + input_8(in));
		EXPECT(dry_debug_selects() || dry_fail_selects() ? rc == -EOPNOTSUPP : rc == 0 || cramped || faults.refused);
		break;
	case 7:
		dry_print_leaks();
		dry_print_stats();
		faults.reports = before;
		break;
	case 8:
		typed(in);
		break;
	default:
		error(in);
	}
}

/* ---- the whole --------------------------------------------------------------------------------------- */

static void end_of_process(void)
{
	unsigned how = input_8(&input);
	size_t size = 1 + input_16(&input) % 4000;
	unsigned char *left = malloc(size);
	bool damage = left && secure && dry_option_exit_check && how & 1 && is_watched(left, size) && overrun(left, size);

	dry_print_leaks();
	faults.reports = 0;
	dry_profile_finish(true);
	EXPECT(faults.reports == damage);
	EXPECT(!damage || strstr(faults.line, "written beyond its end"));
	dry_main_heap.caches.hooks = &dry_hooks_usual;
	if (!LLVMFuzzerRunDriver)
		exit(0);
}

static void process(void)
{
	malloc_begin();
	faults.ignored[0] = "on purpose"; /* lines that the settings ask for */
	faults.ignored[1] = "trace: ";
	settings();
	take_settings();
	world.op_rare = op_rare;
	malloc_stream(input); /* and once more the same bytes: */
	end_of_process();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	input = (struct input){ data, data + size };
	fflush(NULL);
	EXPECT(in_child(process));
	return 0;
}
