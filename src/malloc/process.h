/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef DRY_MALLOC_PROCESS_H
#define DRY_MALLOC_PROCESS_H

/*
 * With the first block: handlers around fork are registered before most libraries register theirs, so that ours take their locks
 * after the others' (docs/design/fork.md); and, if libc has begun, the profile starts, for constructors of other libraries run
 * before this one's. The dynamic linker allocates before either.
 */
void dry_process_begin(void);

#endif
