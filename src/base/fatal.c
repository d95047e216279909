/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "base/fatal.h"

#include <stdarg.h>
#include <stddef.h>

#include "base/fmt.h"

/* The port's, see port/contract.h. */
void dry_port_write(const char *text, size_t bytes);
_Noreturn void dry_port_abort(void);

#define LINE_SIZE 320

bool dry_fatal_aborts = true;
void (*dry_fatal_explain)(enum dry_fatal_code code, const void *address);

static const char *const what[] = {
	[DRY_FATAL_DOUBLE_FREE] = "double free",
	[DRY_FATAL_INVALID_POINTER] = "invalid pointer",
	[DRY_FATAL_INTERIOR] = "pointer into the middle of an object",
	[DRY_FATAL_WRONG_CACHE] = "object of another cache",
	[DRY_FATAL_DEAD_CACHE] = "cache already destroyed",
	[DRY_FATAL_POISON] = "free object was written to",
	[DRY_FATAL_WRONG_SIZE] = "wrong size on sized free",
	[DRY_FATAL_OVERFLOW] = "object was written beyond its end",
	[DRY_FATAL_UNDERFLOW] = "object was written before its start",
	[DRY_FATAL_USE_AFTER_FREE] = "use after free",
	[DRY_FATAL_OUT_OF_BOUNDS] = "access out of bounds",
	[DRY_FATAL_MISMATCH] = "freed by another family than it was allocated by",
	[DRY_FATAL_INTERNAL] = "internal inconsistency",
};

const char *dry_fatal_text(enum dry_fatal_code code)
{
	return what[code];
}

/* One call for the whole line, so that lines of several threads do not mix; and one line, whatever is in names of the program's. */
static void write_line(char *line, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == '\x7f')
			line[i] = '?';
	line[length] = '\n'; /* in place of the terminator */
	dry_port_write(line, length + 1);
}

/* Its line is off the stack before more is said. */
static DRY_NOINLINE void say(enum dry_fatal_code code, const void *address, const char *cache, const char *detail)
{
	char line[LINE_SIZE];
	size_t n = dry_format(line, sizeof(line), "drystone: %s", what[code]);

	if (address != NULL)
		n += dry_format(line + n, sizeof(line) - n, ": %p", address);
	if (cache != NULL)
		n += dry_format(line + n, sizeof(line) - n, "%s cache %s", address != NULL ? "," : ":", cache);
	if (detail != NULL)
		n += dry_format(line + n, sizeof(line) - n, ": %s", detail);
	write_line(line, n);
}

void dry_fatal(enum dry_fatal_code code, const void *address, const char *cache, const char *detail)
{
	void (*explain)(enum dry_fatal_code, const void *) = __atomic_load_n(&dry_fatal_explain, __ATOMIC_RELAXED);

	say(code, address, cache, detail);
	if (explain != NULL)
		explain(code, address);
	if (dry_fatal_aborts || code == DRY_FATAL_INTERNAL)
		dry_port_abort();
}

void dry_warn(const char *fmt, ...)
{
	char line[LINE_SIZE];
	size_t n = dry_format(line, sizeof(line), "drystone: ");
	va_list ap;

	va_start(ap, fmt);
	n += dry_vformat(line + n, sizeof(line) - n, fmt, ap);
	va_end(ap);
	write_line(line, n);
}
