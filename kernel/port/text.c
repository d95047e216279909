// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Where reports go (src/base/fatal.h), and the end of what cannot go on. */
#include <linux/bug.h>
#include <linux/kernel.h>
#include <linux/printk.h>

void dry_port_write(const char *text, size_t bytes);
__noreturn void dry_port_abort(void);

void dry_port_write(const char *text, size_t bytes)
{
	pr_alert("%.*s", (int)bytes, text);
	dump_stack();
}

__noreturn void dry_port_abort(void)
{
	BUG();
}
