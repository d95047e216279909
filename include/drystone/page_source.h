/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * page_source.h - where a heap takes the pages of its blocks instead of from the system: huge pages, a file, the memory
 * of a device, a pool. <drystone/drystone.h> includes it.
 */
#ifndef DRYSTONE_PAGE_SOURCE_H
#define DRYSTONE_PAGE_SOURCE_H

#include <stddef.h>

/*
 * The life of a range: reserve, commit, any number of purges, release. Only slabs, runs and big blocks lie in it; what the
 * allocator knows of them (descriptors, arrays) does not. All four calls must be there. They get `arg`; sizes are bytes;
 * addresses and sizes are multiples of `unit`. They may come from any thread, several at a time, and with locks of the heap held:
 * they must not use drystone, be it by malloc(), on that heap.
 */
struct dry_page_source {
	/*
	 * Address space for `size` bytes, aligned to `align`, a power of two. It is not touched before it is committed. NULL:
	 * there is none. A heap asks for 16 GiB at its start, and for half as much again and again while the answer is
	 * NULL, down to 4 MiB; then once for each block of more than 128 KiB and half a
	 * `unit`, and each of more than 1 MiB.
	 */
	void *(*reserve)(void *arg, size_t size, size_t align);
	/*
	 * Memory for a part of a reservation: readable, writable, and zero. node: the memory node of the heap that it should lie
	 * on, from 0; asked again, for a range that was purged, it may move to another. 0, or a negative errno value: then
	 * the allocation goes without.
	 */
	int (*commit)(void *arg, void *addr, size_t size, unsigned node);
	/* The content of a committed range is not needed: it stays committed and reads as zero from now on. */
	void (*purge)(void *arg, void *addr, size_t size);
	/* A reservation, or a part of one, committed or not, is not needed any more. */
	void (*release)(void *arg, void *addr, size_t size);
	void *arg;
	/* The size of its pages, a power of two from the system's to 4 MiB, for example 2 MiB for huge ones; 0: the system's. */
	size_t unit;
};

#endif
