/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * In which module - the program or a shared library - an address lies, and where that has its table for unwinding.
 *
 * The program, libc and the library itself are never unloaded: they are remembered, as glibc takes 130 instructions to find one
 * of them, and a stack goes through all three. Others may be gone a moment later, and another may be where they were.
 *
 * A program that is linked statically may have no sorted table (Debian's gcc leaves it out). What it would be made of is there, and
 * is found by the section headers of its file, read once.
 */
#ifndef DRY_UNIX_UNWIND_MODULE_H
#define DRY_UNIX_UNWIND_MODULE_H

#include <stdbool.h>
#include <stdint.h>

struct dry_unix_module {
	uintptr_t from, to;
	const uint8_t *table; /* .eh_frame_hdr, or, up to end, .eh_frame */
	const uint8_t *end;   /* NULL: .eh_frame_hdr */
};

/* false: none is known there, or it has no table. No lock is taken where glibc tells of modules without one (2.35). */
bool dry_unix_module_find(uintptr_t pc, struct dry_unix_module *module);

#endif
