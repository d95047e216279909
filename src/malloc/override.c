/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The malloc family of libc on the default heap. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "malloc_front.h" /* of front/, or of the allocators for small machines */
#include "port/contract.h"

/* What other copies of the library in the process look for (malloc/process.c). */
DRY_HIDDEN extern const char dry_overrides;
DRY_HIDDEN const char dry_overrides = 1;
DRY_EXPORT extern const char dry_serves_malloc; /* <drystone/process.h> */
DRY_EXPORT const char dry_serves_malloc = 1;

DRY_REPLACEABLE void *malloc(size_t size)
{
	return fast_malloc(size);
}

DRY_REPLACEABLE void free(void *object)
{
	fast_free(object);
}

DRY_REPLACEABLE void *calloc(size_t count, size_t size)
{
	size_t bytes;

	if (DRY_UNLIKELY(__builtin_mul_overflow(count, size, &bytes))) {
		errno = ENOMEM;
		return NULL;
	}
	return front_zalloc(bytes);
}

DRY_REPLACEABLE void *realloc(void *object, size_t size)
{
	if (object == NULL)
		return fast_malloc(size);
	if (size == 0) { /* as glibc: realloc(p, 0) frees */
		fast_free(object);
		return NULL;
	}
	return front_realloc(object, size);
}

DRY_REPLACEABLE void *reallocarray(void *object, size_t count, size_t size)
{
	size_t bytes;

	if (DRY_UNLIKELY(__builtin_mul_overflow(count, size, &bytes))) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(object, bytes);
}

/* ---- aligned --------------------------------------------------------------------------- */

DRY_REPLACEABLE int posix_memalign(void **object, size_t align, size_t size)
{
	void *result;

	if (!dry_is_pow2(align) || align % sizeof(void *) != 0)
		return EINVAL;
	result = front_aligned(align, size);
	if (result == NULL) {
		errno = ENOMEM; /* as with glibc, whose own tests look at it */
		return ENOMEM;
	}
	*object = result;
	return 0;
}

DRY_REPLACEABLE void *aligned_alloc(size_t align, size_t size)
{
	void *object;

	if (!dry_is_pow2(align)) {
		errno = EINVAL;
		return NULL;
	}
	object = front_aligned(align, size);
	if (object == NULL)
		errno = ENOMEM;
	return object;
}

/* Of what is no power of two the next one, as libc's. */
DRY_REPLACEABLE void *memalign(size_t align, size_t size)
{
	if (align > SIZE_MAX / 2 + 1) {
		errno = EINVAL;
		return NULL;
	}
	return aligned_alloc((size_t)1 << dry_log2_ceil(align | (align == 0)), size);
}

DRY_REPLACEABLE void *valloc(size_t size)
{
	return aligned_alloc(dry_port_page_size(), size);
}

DRY_REPLACEABLE void *pvalloc(size_t size)
{
	size_t page = dry_port_page_size(), bytes;

	if (__builtin_add_overflow(size, page - 1, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return aligned_alloc(page, bytes & ~(page - 1));
}

/* ---- sized free -------------------------------------------------------------------------- */

DRY_REPLACEABLE void free_sized(void *object, size_t size)
{
	fast_free_sized(object, size, 1);
}

DRY_REPLACEABLE void free_aligned_sized(void *object, size_t align, size_t size)
{
	fast_free_sized(object, size, align);
}

DRY_REPLACEABLE void cfree(void *object)
{
	fast_free(object);
}

DRY_REPLACEABLE size_t malloc_usable_size(void *object)
{
	return front_usable(object);
}

/* ---- glibc's inner names ------------------------------------------------------------------ */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes" /* the public names carry libc's attributes, these need none */
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wmissing-attributes"
DRY_REPLACEABLE void *__libc_malloc(size_t size) DRY_ALIAS("malloc");
DRY_REPLACEABLE void __libc_free(void *object) DRY_ALIAS("free");
DRY_REPLACEABLE void *__libc_calloc(size_t count, size_t size) DRY_ALIAS("calloc");
DRY_REPLACEABLE void *__libc_realloc(void *object, size_t size) DRY_ALIAS("realloc");
DRY_REPLACEABLE void *__libc_memalign(size_t align, size_t size) DRY_ALIAS("memalign");
DRY_REPLACEABLE void *__libc_valloc(size_t size) DRY_ALIAS("valloc");
DRY_REPLACEABLE void *__libc_pvalloc(size_t size) DRY_ALIAS("pvalloc");
DRY_REPLACEABLE int __posix_memalign(void **object, size_t align, size_t size) DRY_ALIAS("posix_memalign");
#pragma GCC diagnostic pop
