/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef DRY_PORT_LINUX_THREAD_H
#define DRY_PORT_LINUX_THREAD_H

#include <stdint.h>

/* The calling thread's task number once it was asked for; 0 before, and in the child of a fork. */
extern _Thread_local uint32_t dry_linux_thread;

/* Calls of vfork() that the thread is in: not 0 in its children, which share its thread-local data. */
extern _Thread_local unsigned dry_linux_vforks;

#endif
