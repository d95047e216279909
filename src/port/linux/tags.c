/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tags of memory as Linux has them on AArch64 (Documentation/arch/arm64/memory-tagging-extension.rst): memory that was mapped with
 * PROT_MTE, and threads that were told by prctl() how a wrong tag is answered. The memory of before keeps no tags: they read as 0.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall */
#endif
#include "port/guard.h"

#include "port/linux/filter.h"
#include "port/unix/map.h"

#ifdef __aarch64__
#include <errno.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef HWCAP2_MTE /* older headers */
#define HWCAP2_MTE (1 << 18)
#endif
#ifndef PROT_MTE
#define PROT_MTE 0x20
#endif
#ifndef PR_SET_TAGGED_ADDR_CTRL
#define PR_SET_TAGGED_ADDR_CTRL 55
#endif

/* Bits of its argument. */
#define TAGGED_ADDRESSES 1ul /* system calls take pointers with a tag */
#define SYNC             (1ul << 1)
#define ASYNC            (1ul << 2) /* with SYNC: what each processor is set to prefer, for one asymmetric */
#define TAGS_AT          3 /* the set of tags that are drawn begins at this bit */
#define TAGS             0xfffeul /* all but 0 */

static bool control(unsigned long how)
{
	return syscall(SYS_prctl, PR_SET_TAGGED_ADDR_CTRL, TAGGED_ADDRESSES | how | TAGS << TAGS_AT, 0ul, 0ul, 0ul) == 0;
}

/* Filters may look at what memory is mapped with: what is mapped from then on has no tags (filter.c). */
bool dry_port_use_tags(bool sync)
{
	int saved = errno;
	bool done = false;

	if ((getauxval(AT_HWCAP2) & HWCAP2_MTE) != 0 && dry_linux_free_begin()) {
		done = sync ? control(SYNC) : control(SYNC | ASYNC) || control(ASYNC); /* both at once: Linux 5.15 */
		if (done)
			atomic_fetch_or_explicit(&dry_unix_access, PROT_MTE, memory_order_relaxed);
		dry_linux_free_end();
	}
	errno = saved;
	return done;
}
#else
bool dry_port_use_tags(bool sync)
{
	(void)sync;
	return false;
}
#endif
