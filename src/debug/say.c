/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "debug/say.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/fmt.h"
#include "port/contract.h"
#include "port/stack.h"

#define FRAMES 64
#define FEW    16

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

void dry_debug_write(void *arg, const char *text, size_t bytes)
{
	(void)arg;
	dry_port_write(text, bytes);
}

void dry_debug_put_frames(dry_port_writer *write, void *arg, const uintptr_t *frame, unsigned count)
{
	char line[196] = "  ";

	for (unsigned i = 0; i < count; i++) {
		size_t n = 2 + dry_port_symbol(frame[i], line + 2, sizeof(line) - 3);
		line[n++] = '\n';
		write(arg, line, n);
	}
}

void dry_debug_say_frames(const uintptr_t *frame, unsigned count)
{
	dry_debug_put_frames(dry_debug_write, NULL, frame, count);
}

static DRY_NOINLINE void say_short_stack(void)
{
	uintptr_t frame[FEW];

	dry_debug_say_frames(frame, dry_port_stack(frame, FEW));
}

static atomic_flag busy = ATOMIC_FLAG_INIT;

void dry_debug_say_forked(void)
{
	atomic_flag_clear_explicit(&busy, memory_order_relaxed);
}

void dry_debug_say_stack(void)
{
	static uintptr_t frame[FRAMES]; /* too much for a small stack; who finds it in use says less */

	if (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) {
		say_short_stack();
		return;
	}
	dry_debug_say_frames(frame, dry_port_stack(frame, FRAMES));
	atomic_flag_clear_explicit(&busy, memory_order_release);
}

void dry_debug_say_call(enum dry_fatal_code code, const void *address)
{
	(void)code, (void)address;
	dry_debug_say("call by thread %u", dry_port_thread());
	dry_debug_say_stack();
}
