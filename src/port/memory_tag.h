/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tags of memory: FEAT_MTE of AArch64 (Arm Architecture Reference Manual, "The Memory Tagging Extension"). Each 16 bytes of memory
 * that was mapped for it have a tag of 4 bits; an access by a pointer with another one in its bits 56 to 59 faults. To be called
 * where dry_port_use_tags() said true only: other processors do not know the instructions, nor do assemblers that are not told.
 */
#ifndef DRY_PORT_MEMORY_TAG_H
#define DRY_PORT_MEMORY_TAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DRY_TAG_BYTES ((size_t)16) /* that one is of */

#ifdef __aarch64__
#define DRY_HAS_TAGS 1

/* Whether this thread's accesses are looked at; a signal handler's always are. Nothing moves from one side to the other. */
static inline void dry_tag_checks(bool on)
{
	if (on)
		__asm__ volatile(".inst 0xd503409f" : : : "memory"); /* msr tco, #0 */
	else
		__asm__ volatile(".inst 0xd503419f" : : : "memory"); /* msr tco, #1 */
}

/* The address with the tag of its memory, which can be read. */
static inline void *dry_tag_load(const void *address)
{
	register void *pointer __asm__("x9") = (void *)(uintptr_t)address;

	__asm__ volatile(".inst 0xd9600129" : "+r"(pointer) : : "memory"); /* ldg x9, [x9] */
	return pointer;
}

/* The address with a tag that the processor draws: none of those in the set (a bit for each), nor 0. */
static inline void *dry_tag_random(const void *address, unsigned excluded)
{
	register void *pointer __asm__("x9") = (void *)(uintptr_t)address;
	register uint64_t none __asm__("x10") = (uint64_t)excluded | 1;

	__asm__ volatile(".inst 0x9aca1129" : "+r"(pointer) : "r"(none)); /* irg x9, x9, x10 */
	return pointer;
}

/* The pointer's tag for its memory: a multiple of 16 bytes, aligned as that. */
static inline void dry_tag_store(void *pointer, size_t bytes)
{
	register char *at __asm__("x9") = pointer;
	char *end = at + bytes;

	for (; at != end; at += DRY_TAG_BYTES)
		__asm__ volatile(".inst 0xd9200929" : : "r"(at) : "memory"); /* stg x9, [x9] */
}

#else
#define DRY_HAS_TAGS 0

static inline void dry_tag_checks(bool on)
{
	(void)on;
}

static inline void *dry_tag_load(const void *address)
{
	return (void *)(uintptr_t)address;
}

static inline void *dry_tag_random(const void *address, unsigned excluded)
{
	(void)excluded;
	return (void *)(uintptr_t)address;
}

static inline void dry_tag_store(void *pointer, size_t bytes)
{
	(void)pointer;
	(void)bytes;
}
#endif

#endif
