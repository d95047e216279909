/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The malloc family of libc on the default heap. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "base/fatal.h"
#include "core/fast.h"
#include "malloc/background.h"
#include "malloc/general.h"
#include "malloc/options.h"
#include "malloc/profile.h"
#include "malloc/size_class.h"

#define HEAP (&dry_main_heap)

static DRY_SLOW void *malloc_slow(size_t size)
{
	struct dry_heap *heap = dry_heap_get(NULL);
	struct dry_cache *cache = NULL;
	void *object;

	if (DRY_LIKELY(size <= DRY_CLASS_MAX))
		cache = atomic_load_explicit(&HEAP->general[dry_class_of(size | (size == 0))], memory_order_acquire);
	dry_background_poke();
	if (DRY_LIKELY(cache != NULL) && DRY_LIKELY(!dry_profile_asks))
		return dry_general_alloc_slow(cache, size | (size == 0));
	object = heap != NULL ? dry_general_alloc(heap, size, 1, false) : NULL;
	if (object == NULL)
		errno = ENOMEM;
	return object;
}

static DRY_SLOW void free_slow(void *object)
{
	int saved = errno;

	if (object == NULL)
		return;
	dry_general_free(HEAP, object);
	errno = saved;
}

static DRY_SLOW void free_sized_slow(void *object, size_t size)
{
	int saved = errno;

	if (object == NULL)
		return;
	if (dry_profile_sized(HEAP, object, size) && dry_general_size_holds(HEAP, object, size))
		dry_general_free(HEAP, object);
	errno = saved;
}

DRY_FAST void *fast_malloc(size_t size)
{
	/* The limit is 0 before there is a heap: then no sequence may be entered. */
	if (DRY_LIKELY(size < dry_class_limit)) {
		void *object = dry_percpu_pop_packed(DRY_SLOTS(HEAP), dry_class_at[(size + 15) / 16]);
		if (DRY_LIKELY(object != NULL))
			return object;
	}
	return malloc_slow(size);
}

DRY_FAST void fast_free(void *object)
{
	size_t granule = ((uintptr_t)object - HEAP->arena.base) >> DRY_GRANULE_SHIFT;

	if (DRY_LIKELY(granule < HEAP->arena.granules) &&
	    DRY_LIKELY(dry_percpu_push(DRY_SLOTS(HEAP), HEAP->arena.map[granule], object)))
		return;
	free_slow(object);
}

/* As fast_free(); the size is looked at where the slow path has the time. */
DRY_FAST void fast_free_sized(void *object, size_t size)
{
	size_t granule = ((uintptr_t)object - HEAP->arena.base) >> DRY_GRANULE_SHIFT;

	if (DRY_LIKELY(granule < HEAP->arena.granules) &&
	    DRY_LIKELY(dry_percpu_push(DRY_SLOTS(HEAP), HEAP->arena.map[granule], object)))
		return;
	free_sized_slow(object, size);
}

DRY_EXPORT void *malloc(size_t size)
{
	return fast_malloc(size);
}

DRY_EXPORT void free(void *object)
{
	fast_free(object);
}

static void *zalloc(size_t size)
{
	if (size <= DRY_CLASS_MAX) {
		void *object = fast_malloc(size);
		return object != NULL ? memset(object, 0, size) : NULL;
	}
	struct dry_heap *heap = dry_heap_get(NULL);
	dry_background_poke();
	void *object = heap != NULL ? dry_general_alloc(heap, size, 1, true) : NULL;
	if (object == NULL)
		errno = ENOMEM;
	return object;
}

DRY_EXPORT void *calloc(size_t count, size_t size)
{
	size_t bytes;

	if (DRY_UNLIKELY(__builtin_mul_overflow(count, size, &bytes))) {
		errno = ENOMEM;
		return NULL;
	}
	return zalloc(bytes);
}

DRY_EXPORT void *realloc(void *object, size_t size)
{
	void *moved;

	if (object == NULL)
		return fast_malloc(size);
	if (size == 0) { /* as glibc: realloc(p, 0) frees */
		fast_free(object);
		return NULL;
	}
	int saved = errno;
	moved = dry_general_realloc(HEAP, object, size);
	dry_background_poke();
	errno = moved != NULL ? saved : ENOMEM;
	return moved;
}

DRY_EXPORT void *reallocarray(void *object, size_t count, size_t size)
{
	size_t bytes;

	if (DRY_UNLIKELY(__builtin_mul_overflow(count, size, &bytes))) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(object, bytes);
}

/* ---- aligned --------------------------------------------------------------------------- */

static void *alloc_aligned(size_t align, size_t size)
{
	struct dry_heap *heap = dry_heap_get(NULL);

	return heap != NULL ? dry_general_alloc(heap, size, align, false) : NULL;
}

DRY_EXPORT int posix_memalign(void **object, size_t align, size_t size)
{
	int saved = errno;
	void *result;

	if (!dry_is_pow2(align) || align % sizeof(void *) != 0)
		return EINVAL;
	result = alloc_aligned(align, size);
	errno = saved;
	if (result == NULL)
		return ENOMEM;
	*object = result;
	return 0;
}

DRY_EXPORT void *aligned_alloc(size_t align, size_t size)
{
	void *object;

	if (!dry_is_pow2(align)) {
		errno = EINVAL;
		return NULL;
	}
	object = alloc_aligned(align, size);
	if (object == NULL)
		errno = ENOMEM;
	return object;
}

DRY_EXPORT void *memalign(size_t align, size_t size) DRY_ALIAS("aligned_alloc");

DRY_EXPORT void *valloc(size_t size)
{
	return aligned_alloc(dry_port_page_size(), size);
}

DRY_EXPORT void *pvalloc(size_t size)
{
	size_t page = dry_port_page_size(), bytes;

	if (__builtin_add_overflow(size, page - 1, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return aligned_alloc(page, bytes & ~(page - 1));
}

/* ---- sized free -------------------------------------------------------------------------- */

DRY_EXPORT void free_sized(void *object, size_t size)
{
	fast_free_sized(object, size);
}

DRY_EXPORT void free_aligned_sized(void *object, size_t align, size_t size)
{
	(void)align;
	fast_free_sized(object, size);
}

DRY_EXPORT void cfree(void *object)
{
	fast_free(object);
}

DRY_EXPORT size_t malloc_usable_size(void *object)
{
	size_t size = dry_general_usable(HEAP, object);

	if (DRY_UNLIKELY(size == 0) && object != NULL && dry_option_secure)
		dry_fatal(DRY_FATAL_INVALID_POINTER, object, NULL, "never given out");
	return size;
}

/* ---- glibc's inner names ------------------------------------------------------------------ */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes" /* the public names carry libc's attributes, these need none */
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wmissing-attributes"
DRY_EXPORT void *__libc_malloc(size_t size) DRY_ALIAS("malloc");
DRY_EXPORT void __libc_free(void *object) DRY_ALIAS("free");
DRY_EXPORT void *__libc_calloc(size_t count, size_t size) DRY_ALIAS("calloc");
DRY_EXPORT void *__libc_realloc(void *object, size_t size) DRY_ALIAS("realloc");
DRY_EXPORT void *__libc_memalign(size_t align, size_t size) DRY_ALIAS("aligned_alloc");
DRY_EXPORT void *__libc_valloc(size_t size) DRY_ALIAS("valloc");
DRY_EXPORT void *__libc_pvalloc(size_t size) DRY_ALIAS("pvalloc");
DRY_EXPORT int __posix_memalign(void **object, size_t align, size_t size) DRY_ALIAS("posix_memalign");
#pragma GCC diagnostic pop
