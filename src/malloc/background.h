/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Memory goes back while the program is idle: a helper thread reaps the default
 * heap. It starts when much is free (START_BYTES) and ends when nothing is left to
 * do, so small programs never have it.
 *
 * States: OFF -> RUNNING (poke) -> OFF (thread ends; fork child). One atomic.
 */
#ifndef DRY_MALLOC_BACKGROUND_H
#define DRY_MALLOC_BACKGROUND_H

#include "core/heap.h"

/* After a slow free: start the thread if there is much to return. Cheap. */
void dry_background_poke(void);

/* In the child of a fork the thread is gone. */
void dry_background_forked(void);

#endif
