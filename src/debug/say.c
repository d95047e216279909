/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "debug/say.h"

#include <stdarg.h>
#include <stddef.h>

#include "base/fmt.h"
#include "port/contract.h"
#include "port/stack.h"

#define FRAMES 64

void dry_debug_say(const char *fmt, ...)
{
	char line[256];
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	n = dry_vformat(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	line[n++] = '\n';
	dry_port_write(line, n);
}

void dry_debug_say_frames(const uintptr_t *frame, unsigned count)
{
	char text[192];

	for (unsigned i = 0; i < count; i++) {
		dry_port_symbol(frame[i], text, sizeof(text));
		dry_debug_say("  %s", text);
	}
}

void dry_debug_say_stack(void)
{
	uintptr_t frame[FRAMES];

	dry_debug_say_frames(frame, dry_port_stack(frame, FRAMES));
}

void dry_debug_say_call(enum dry_fatal_code code, const void *address)
{
	(void)code, (void)address;
	dry_debug_say("call by thread %u", dry_port_thread());
	dry_debug_say_stack();
}
