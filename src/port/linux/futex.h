/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The kernel's waits on a word, between threads of one process. Keeps errno. */
#ifndef DRY_PORT_LINUX_FUTEX_H
#define DRY_PORT_LINUX_FUTEX_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

/*
 * FUTEX_WAIT: sleeps while the word is `value`, at most `limit` (NULL: for good); it may end early, so the caller looks again.
 * FUTEX_WAKE: so many are woken.
 */
void dry_linux_futex(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *limit);

#endif
