/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The hooks of a machine without an operating system: see tiny_config.h. What is weak is meant to be replaced. */
#include "tiny/tiny.h"

DRY_WEAK _Noreturn void dry_port_abort(void)
{
	for (;;)
		;
}

DRY_WEAK void *dry_tiny_map(size_t *size)
{
	(void)size;
	return NULL;
}

#pragma weak dry_tiny_say_pointer
#pragma weak dry_tiny_say_link
#pragma weak dry_tiny_say_leak

DRY_WEAK void dry_tiny_bad_pointer(const struct dry_owner *owner, const void *pointer)
{
	if (dry_tiny_say_pointer != NULL)
		dry_tiny_say_pointer(owner, pointer);
	dry_port_abort();
}

DRY_WEAK void dry_tiny_bad_link(const struct dry_class *class, const void *where)
{
	if (DRY_TINY_CHECK_LINKS && dry_tiny_say_link != NULL) /* else nobody calls this */
		dry_tiny_say_link(class, where);
	dry_port_abort();
}

DRY_WEAK void dry_tiny_leak(const char *cache, size_t objects)
{
	if (dry_tiny_say_leak != NULL)
		dry_tiny_say_leak(cache, objects);
}
