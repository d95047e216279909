/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * DRYSTONE_CONF: any text. Each piece between commas gives no line or one; a line is one line, printable,
 * and of bounded length; what was said once is said again the second time, and the heap still works.
 */
#include <string.h>

#include <drystone/drystone.h>

#include "base/fatal.h"
#include "faults.h"
#include "input.h"
#include "malloc/options.h"

static char text[8192];

static unsigned pieces_of(const char *conf)
{
	unsigned pieces = *conf != '\0';

	for (; *conf; conf++)
		pieces += *conf == ',';
	return pieces;
}

static void line_is_sound(void)
{
	size_t length = strlen(faults.line);

	EXPECT(strncmp(faults.line, "drystone: ", 10) == 0);
	EXPECT(length > 11 && length < 400 && faults.line[length - 1] == '\n');
	for (size_t i = 0; i < length - 1; i++)
		EXPECT(faults.line[i] >= ' ' && faults.line[i] <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool aborts = dry_fatal_aborts;
	unsigned said;
	void *block;

	if (size >= sizeof(text))
		size = sizeof(text) - 1;
	memcpy(text, data, size);
	text[size] = '\0';
	memset(&faults, 0, sizeof(faults));
	faults.catch_lines = true;
	dry_options_parse(text);
	said = faults.reports;
	EXPECT(said <= pieces_of(text));
	if (said)
		line_is_sound();
	dry_options_parse(text);
	EXPECT(faults.reports == 2 * said);
	EXPECT(dry_option_decay_ms >= 10 && dry_option_decay_ms <= 3600000);
	block = dry_alloc(NULL, 100);
	EXPECT(block);
	dry_free(NULL, block);
	memset(&faults, 0, sizeof(faults));
	dry_fatal_aborts = aborts;
	dry_option_stats = false;
	return 0;
}
