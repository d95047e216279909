/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What protection asks of a port beyond contract.h: secrets, pages that fault again, and the
 * fault itself. Core and page do without. Nothing here changes errno.
 */
#ifndef DRY_PORT_GUARD_H
#define DRY_PORT_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits that another process cannot guess. Never 0. */
uint64_t dry_port_random(void);

/* How many forks the process, and those that it comes from until they forked, have begun: no two children of one have the same. */
uint64_t dry_port_forks(void);

/*
 * Take a committed range of a reservation back: it faults again, its content is gone, and it may be
 * committed again. 0 or -ENOMEM (then it stays as it was).
 */
int dry_port_decommit(void *addr, size_t size);

/*
 * The same of any range of committed pages, for fences: many of them, and short. Until dry_port_unfence() of it, or of a part; then
 * its content is zero. 0 or -ENOMEM (then it stays as it was).
 */
int dry_port_fence(void *addr, size_t size);
int dry_port_unfence(void *addr, size_t size);

/* Whether a fence is a mapping, of which a process may have so many (65,530), and for which the kernel takes some 500 bytes. */
bool dry_port_fences_are_mappings(void);

/*
 * What may be committed, in bytes, until others of the process are left no more than they need of its limit of data. SIZE_MAX:
 * there is no limit, or it is not known.
 */
size_t dry_port_data_room(void);

/*
 * Have accesses by pointers with a tag looked at, the caller's and those of threads that it begins (memory_tag.h); what is
 * committed from then on has tags. sync: an access that does not have its memory's tag faults; else it is done, and the process
 * is told some time later, or as the system has it for this processor. false: processor, system or port have none.
 */
bool dry_port_use_tags(bool sync);

/*
 * Have fn called for every access that faults, in the context of the fault: it may write text, but not
 * allocate. access: "read", "write", or "access" if that is not known; NULL: some time ago by a pointer with
 * a wrong tag, and the address is not known. pc: the instruction, 0 if not known;
 * dry_port_stack() gives the way back out of the handler, then the callers of the function at pc. Afterwards the fault
 * goes to whoever was to have it before. Called once.
 */
void dry_port_on_fault(void (*fn)(uintptr_t address, const char *access, uintptr_t pc));

#endif
