/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * AddressSanitizer and ThreadSanitizer are known by their run-time libraries, which the program was linked to or not;
 * Valgrind by an answer to one of memcheck's client requests, which are instructions without effect elsewhere (other tools of
 * Valgrind's do not answer it). Without Valgrind's headers at build time there is no Valgrind here.
 */
#include "port/annotate.h"

#include <stdint.h>

#if defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#ifndef NVALGRIND /* its headers define that for processors that it does not know */
#define HAVE_VALGRIND 1
#endif
#endif
#endif
#ifndef HAVE_VALGRIND
#define HAVE_VALGRIND 0
#endif

/* ---- what checkers have no use for ---------------------------------------------------------- */

static void no_heap(const void *heap, bool begins)
{
	(void)heap;
	(void)begins;
}

static void no_space(void *memory, size_t bytes, bool begins)
{
	(void)memory;
	(void)bytes;
	(void)begins;
}

/* ---- AddressSanitizer -------------------------------------------------------------------- */

DRY_WEAK void __asan_poison_memory_region(void const volatile *memory, size_t bytes);
DRY_WEAK void __asan_unpoison_memory_region(void const volatile *memory, size_t bytes);
DRY_WEAK void *__asan_region_is_poisoned(void *memory, size_t bytes);
DRY_WEAK void __lsan_register_root_region(const void *memory, size_t bytes);
DRY_WEAK void __lsan_unregister_root_region(const void *memory, size_t bytes);

static void asan_closed(void *memory, size_t bytes)
{
	__asan_poison_memory_region(memory, bytes);
}

static void asan_opened(void *memory, size_t bytes)
{
	__asan_unpoison_memory_region(memory, bytes);
}

static void asan_given(const void *heap, void *object, size_t size, bool defined)
{
	(void)heap;
	(void)defined;
	__asan_unpoison_memory_region(object, size);
}

static void asan_taken(const void *heap, void *object, size_t size)
{
	(void)heap;
	__asan_poison_memory_region(object, size);
}

static void asan_cut(const void *heap, void *object, size_t old, size_t size)
{
	(void)heap;
	__asan_poison_memory_region((char *)object + size, old - size);
	__asan_unpoison_memory_region(object, size); /* the eight bytes that the end lies in */
}

static size_t asan_size(const void *object, size_t room)
{
	const char *end = __asan_region_is_poisoned((void *)(uintptr_t)object, room);

	return end == NULL ? room : (size_t)(end - (const char *)object);
}

/* Objects of ours hold pointers to blocks of its malloc, which are no leaks. */
static void asan_space(void *memory, size_t bytes, bool begins)
{
	if (begins && __lsan_register_root_region != NULL)
		__lsan_register_root_region(memory, bytes);
	if (!begins && __lsan_unregister_root_region != NULL)
		__lsan_unregister_root_region(memory, bytes);
}

static const struct dry_annotations asan = { asan_given,  asan_taken,  asan_cut,  asan_size,
					     asan_closed, asan_opened, no_heap,   asan_space };

/* ---- ThreadSanitizer ----------------------------------------------------------------------- */

DRY_WEAK void __tsan_acquire(void *address);
DRY_WEAK void __tsan_release(void *address);

#define TSAN_PAGE ((uintptr_t)4096) /* what lay in one may be cut otherwise when it is used again */

/* Who has memory next comes after who had it before: our locks are not seen. */
static void tsan_each(void (*fn)(void *), const void *object, size_t size)
{
	uintptr_t at = (uintptr_t)object & ~(TSAN_PAGE - 1), end = (uintptr_t)object + size;

	for (; at < end; at += TSAN_PAGE)
		fn((void *)at);
}

static void tsan_given(const void *heap, void *object, size_t size, bool defined)
{
	(void)heap;
	(void)defined;
	tsan_each(__tsan_acquire, object, size);
}

static void tsan_taken(const void *heap, void *object, size_t size)
{
	(void)heap;
	tsan_each(__tsan_release, object, size);
}

static void tsan_cut(const void *heap, void *object, size_t old, size_t size)
{
	(void)heap;
	(void)object;
	(void)old;
	(void)size;
}

static size_t tsan_size(const void *object, size_t room)
{
	(void)object;
	return room;
}

static void tsan_memory(void *memory, size_t bytes)
{
	(void)memory;
	(void)bytes;
}

static const struct dry_annotations tsan = { tsan_given,  tsan_taken,  tsan_cut,  tsan_size,
					     tsan_memory, tsan_memory, no_heap,    no_space };

/* ---- Valgrind ------------------------------------------------------------------------------ */

#if HAVE_VALGRIND
static void memcheck_given(const void *heap, void *object, size_t size, bool defined)
{
	VALGRIND_MEMPOOL_ALLOC(heap, object, size);
	if (defined)
		(void)VALGRIND_MAKE_MEM_DEFINED(object, size);
}

static void memcheck_taken(const void *heap, void *object, size_t size)
{
	VALGRIND_MEMPOOL_FREE(heap, object);
	(void)VALGRIND_MAKE_MEM_NOACCESS(object, size);
}

static void memcheck_cut(const void *heap, void *object, size_t old, size_t size)
{
	(void)VALGRIND_MAKE_MEM_NOACCESS((char *)object + size, old - size);
	VALGRIND_MEMPOOL_CHANGE(heap, object, object, size);
}

/* Whether the first `size` bytes may be used; reports nothing. */
static bool memcheck_usable(const void *object, size_t size)
{
	unsigned char bits;

	return size == 0 || VALGRIND_GET_VBITS((const char *)object + size - 1, &bits, 1) == 1;
}

static size_t memcheck_size(const void *object, size_t room)
{
	size_t low = 0, high = room;

	while (low < high) {
		size_t middle = low + (high - low + 1) / 2;
		if (memcheck_usable(object, middle))
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

static void memcheck_closed(void *memory, size_t bytes)
{
	(void)VALGRIND_MAKE_MEM_NOACCESS(memory, bytes);
}

static void memcheck_opened(void *memory, size_t bytes)
{
	(void)VALGRIND_MAKE_MEM_DEFINED(memory, bytes);
}

static void memcheck_heap(const void *heap, bool begins)
{
	if (begins)
		VALGRIND_CREATE_MEMPOOL(heap, 0, 0);
	else
		VALGRIND_DESTROY_MEMPOOL(heap);
}

static const struct dry_annotations memcheck = { memcheck_given,  memcheck_taken,  memcheck_cut,  memcheck_size,
						 memcheck_closed, memcheck_opened, memcheck_heap, no_space };

static bool under_memcheck(void)
{
	static char byte;

	return VALGRIND_MAKE_MEM_DEFINED(&byte, 1) != 0;
}
#endif

const struct dry_annotations *dry_port_annotations(void)
{
	if (__asan_poison_memory_region != NULL && __asan_region_is_poisoned != NULL)
		return &asan;
	if (__tsan_acquire != NULL && __tsan_release != NULL)
		return &tsan;
#if HAVE_VALGRIND
	if (under_memcheck())
		return &memcheck;
#endif
	return NULL;
}
