/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * vfork(), whose child may allocate before it calls exec (POSIX forbids it, and OpenJDK's has done so: it reads a folder). It
 * shares all memory with its parent, the thread-local data of the thread that called among it: with it the kernel's area of
 * restartable sequences, which the kernel keeps for the parent alone. So the child must not enter a sequence on a slot: it
 * would not be restarted when another thread of the parent comes to the same processor. It gives the area the number of no slot
 * (the last entry of each heap's table, where all is stopped) and goes without arrays. The parent waits meanwhile.
 *
 * When the parent goes on, the kernel writes the number anew, or does so only if it is another than the one that it wrote last
 * (as of Linux 6.19): then it is what the child found, and is put back. By one instruction, for between a look and a
 * store the kernel may write another.
 *
 * A child that calls vfork() itself finds no slot, and leaves what is to be put back as it is.
 */
#include <sys/types.h>

#include "base/compiler.h"
#include "percpu.h"
#include "port/contract.h"
#include "port/linux/thread.h"
#include "vfork.h"

static _Thread_local uint32_t found;
static _Thread_local uint32_t thread; /* the parent's task number, if it is known: not what its child has for one */

/* Called by the assembly below, of which an optimiser of whole programs sees nothing. */
DRY_HIDDEN __attribute__((used)) void dry_vfork_begins(void);
DRY_HIDDEN __attribute__((used)) pid_t dry_vfork_done(long result);

void dry_vfork_begins(void)
{
	if (dry_linux_vforks++ == 0)
		thread = dry_linux_thread;
}

/* In the child, whose result is 0, then in the parent. */
pid_t dry_vfork_done(long result)
{
	uint32_t none = dry_port_slots(); /* 0: nothing was allocated yet */

	if (result == 0) {
		uint32_t number = none != 0 ? dry_percpu_renumber(none) : none;

		if (number != none)
			found = number;
		return 0;
	}
	/* A parent that is itself a child goes on without a slot. */
	if (--dry_linux_vforks == 0) {
		dry_linux_thread = thread;
		if (none != 0)
			dry_percpu_number_again(none, found);
	}
	if (result > 0)
		return (pid_t)result;
	dry_port_set_errno((int)-result);
	return -1;
}

__asm__(DRY_VFORK);
