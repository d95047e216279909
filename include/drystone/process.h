/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * process.h - limits and policies of the whole process, while it runs: the options of DRYSTONE_CONF (drystone(7)), set by
 * the program itself. Not for libdrystone-tiny.
 */
#ifndef DRYSTONE_PROCESS_H
#define DRYSTONE_PROCESS_H

#include <drystone/drystone.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Set an option, as "name:value" of DRYSTONE_CONF would: dry_ctl("limit", "80%"), dry_ctl("decay_ms", "100"). 0; -EINVAL: no
 * such option, or a bad value; -EBUSY: it can be set at start only, for what it changes is in use; -ENOMEM. "guard" and
 * "guard_rate" change what dry_guard() began, and may fail as it does; then none are guarded.
 */
int dry_ctl(const char *name, const char *value);

/*
 * Called when an allocation would go beyond the limit of the process and all that is free has been given back: fn gives back
 * about `bytes` of what the program can do without, and returns whether it gave any; then the allocation is tried again. Not
 * called where one request alone is bigger than the limit: it fails. It
 * runs in the thread that allocates, without locks of the library, and one at a time; it may free, and what it
 * allocates fails without a call of it. Other threads that need memory meanwhile wait until it is done, two seconds at most, so it
 * must not wait for locks that are held around allocations. NULL: none; then such an allocation fails (ENOMEM). Another one may be
 * named at any time; the one before may still be running in another thread then.
 */
void dry_on_limit(bool (*fn)(void *arg, size_t bytes), void *arg);

/*
 * Bytes of memory that all heaps have of the system, as the limit counts them: blocks and slabs, whether or not the program has
 * touched them, and what is free and not given back yet.
 */
size_t dry_process_bytes(void);

/*
 * In each copy of the library that replaces malloc(), and in no other. Declared weak, it tells a program, or a plug-in with a copy
 * of its own, whether there is one: else its address is NULL. Its value says nothing.
 */
extern const char dry_serves_malloc;

#ifdef __cplusplus
}
#endif
#endif
