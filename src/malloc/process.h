/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef DRY_MALLOC_PROCESS_H
#define DRY_MALLOC_PROCESS_H

/*
 * Handlers around fork, registered once: with the first block, before most libraries register theirs, so that ours take
 * their locks after the others' (docs/design/fork.md).
 */
void dry_process_begin(void);

#endif
