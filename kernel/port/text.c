// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Where reports go (src/base/fatal.h), and the end of what cannot go on. */
#include <linux/bug.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/printk.h>

void dry_port_write(const char *text, size_t bytes);
__noreturn void dry_port_abort(void);

/* Locks may be held that a console which allocates (netconsole) asks for, too: consoles print later. */
void dry_port_write(const char *text, size_t bytes)
{
	unsigned long flags;

	local_irq_save(flags);
	printk_deferred_enter();
	pr_alert("%.*s", (int)bytes, text);
	dump_stack();
	printk_deferred_exit();
	local_irq_restore(flags);
}

__noreturn void dry_port_abort(void)
{
	BUG();
}
