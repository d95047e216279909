/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Reports in text, on a machine without an operating system. */
#include "base/fatal.h"
#include "tiny/tiny.h"

DRY_WEAK void dry_port_write(const char *text, size_t bytes)
{
	(void)text;
	(void)bytes;
}

/* base/fatal.c in little: the same lines, written in pieces. */

static void put(const char *text)
{
	size_t n = 0;

	while (text[n] != '\0')
		n++;
	dry_port_write(text, n);
}

static void put_number(uintptr_t value, unsigned base)
{
	char digits[20], *at = digits + sizeof(digits);

	*--at = '\0';
	do
		*--at = "0123456789abcdef"[value % base];
	while ((value /= base) != 0);
	put(at);
}

void dry_fatal(enum dry_fatal_code code, const void *address, const char *cache, const char *detail)
{
	/* of base/fatal.h, in its order; poison and sizes are not looked at here, links on demand */
	static const char what[] = "double free\0invalid pointer\0pointer into the middle of an object\0"
				   "object of another cache\0cache already destroyed";
	const char *text = what;

	if (DRY_TINY_CHECK_LINKS && code == DRY_FATAL_INTERNAL)
		text = "internal inconsistency";
	else
		for (unsigned i = (unsigned)code; i != 0; i -= *text++ == '\0')
			;
	put("drystone: ");
	put(text);
	put(": 0x");
	put_number((uintptr_t)address, 16);
	if (cache != NULL) {
		put(", cache ");
		put(cache);
	}
	if (detail != NULL) {
		put(": ");
		put(detail);
	}
	put("\n");
	dry_port_abort();
}

void dry_tiny_say_leak(const char *cache, size_t objects)
{
	put("drystone: cache ");
	put(cache);
	put(": ");
	put_number(objects, 10);
	put(" objects still allocated at destroy\n");
}

void dry_tiny_wrong(const char *what, const void *where)
{
	put("drystone: check: does not hold: ");
	put(what);
	put(": 0x");
	put_number((uintptr_t)where, 16);
	put("\n");
}
