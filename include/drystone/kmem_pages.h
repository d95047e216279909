/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * kmem_pages.h - the kernel's pages and vmalloc over drystone.h.
 *
 * A page has PAGE_SIZE bytes: what that macro says where it is defined before, else 4096. A struct page is only
 * ever pointed to: the pointer is the page's address. Blocks of 2^order pages are aligned to their size.
 */
#ifndef DRYSTONE_KMEM_PAGES_H
#define DRYSTONE_KMEM_PAGES_H

#include <drystone/kmem_reclaim.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef PAGE_SIZE
#define KMEM_PAGE_SIZE ((size_t)PAGE_SIZE)
#else
#define KMEM_PAGE_SIZE ((size_t)4096)
#define PAGE_SIZE      4096UL
#define PAGE_SHIFT     12
#endif

struct page;

/*
 * Clear what a block has beyond its first `from` bytes, also what nobody asked for: a krealloc() that grows into that is to find
 * zeros there. By a pointer of which compilers do not know a size: with _FORTIFY_SOURCE they hold a block for as big as was asked.
 */
static inline void *kmem_clear_rest(void *block, size_t from)
{
	char *volatile bytes = (char *)block;
	size_t usable = dry_usable_size(NULL, block);

	if (usable > from)
		memset(bytes + from, 0, usable - from);
	return block;
}

/* align 0: dry_alloc()'s. NULL, or what the flags promise. */
static inline void *kmem_block(size_t size, size_t align, gfp_t flags, const char *name)
{
	bool zero = (flags & (gfp_t)__GFP_ZERO) != 0;
	void *block = NULL;
	int round = 0;

	do {
		if (align != 0)
			block = dry_alloc_aligned(NULL, align, size);
		else
			block = zero ? dry_zalloc(NULL, size) : dry_alloc(NULL, size);
	} while (block == NULL && kmem_again(flags, round++, name));
	return block != NULL && zero ? kmem_clear_rest(block, align != 0 ? 0 : size) : block;
}

/* The least order whose block has that many bytes; 0 for none. */
static inline int get_order(size_t size)
{
	int order = 0;

	for (size_t pages = size != 0 ? (size - 1) / KMEM_PAGE_SIZE : 0; pages != 0; pages >>= 1)
		order++;
	return order;
}

static inline void *page_address(const struct page *page)
{
	return (void *)(uintptr_t)page;
}

static inline struct page *virt_to_page(const void *address)
{
	return (struct page *)((uintptr_t)address & ~(uintptr_t)(KMEM_PAGE_SIZE - 1));
}

/* 2^order pages; NULL also for an order that does not fit. */
static inline struct page *alloc_pages(gfp_t flags, unsigned int order)
{
	if (order >= sizeof(size_t) * 8 || KMEM_PAGE_SIZE > SIZE_MAX >> order)
		return NULL;
	return (struct page *)kmem_block(KMEM_PAGE_SIZE << order, KMEM_PAGE_SIZE << order, flags, "alloc_pages");
}

static inline struct page *alloc_pages_node(int node, gfp_t flags, unsigned int order)
{
	(void)node;
	return alloc_pages(flags, order);
}

static inline void __free_pages(struct page *page, unsigned int order)
{
	(void)order;
	dry_free(NULL, page_address(page));
}

/* The same by address; 0 for NULL. */
static inline unsigned long __get_free_pages(gfp_t flags, unsigned int order)
{
	return (unsigned long)(uintptr_t)page_address(alloc_pages(flags, order));
}

static inline void free_pages(unsigned long address, unsigned int order)
{
	__free_pages((struct page *)(uintptr_t)address, order);
}

static inline unsigned long get_zeroed_page(gfp_t flags)
{
	return __get_free_pages(flags | (gfp_t)__GFP_ZERO, 0);
}

#define alloc_page(flags)      alloc_pages((flags), 0)
#define __get_free_page(flags) __get_free_pages((flags), 0)
#define __free_page(page)      __free_pages((page), 0)
#define free_page(address)     free_pages((address), 0)

/* Whole pages, to the end of the last one, not rounded up to a power of two. */
static inline void *alloc_pages_exact(size_t size, gfp_t flags)
{
	size_t part = size % KMEM_PAGE_SIZE, more = part != 0 ? KMEM_PAGE_SIZE - part : 0;

	if (size == 0)
		return NULL;
	return kmem_block(size <= SIZE_MAX - more ? size + more : size, KMEM_PAGE_SIZE, flags, "alloc_pages_exact");
}

static inline void free_pages_exact(void *block, size_t size)
{
	(void)size;
	dry_free(NULL, block);
}

/* ---- vmalloc: whole pages; NULL for 0 bytes ----------------------------- */

static inline void *__vmalloc(unsigned long size, gfp_t flags)
{
	return alloc_pages_exact(size, flags);
}

static inline void *vmalloc(unsigned long size)
{
	return __vmalloc(size, (gfp_t)GFP_KERNEL);
}

static inline void *vzalloc(unsigned long size)
{
	return __vmalloc(size, (gfp_t)GFP_KERNEL | (gfp_t)__GFP_ZERO);
}

static inline void *vmalloc_node(unsigned long size, int node)
{
	(void)node;
	return vmalloc(size);
}

static inline void *vzalloc_node(unsigned long size, int node)
{
	(void)node;
	return vzalloc(size);
}

static inline void *vmalloc_array(size_t count, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? NULL : vmalloc(bytes);
}

static inline void *vcalloc(size_t count, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? NULL : vzalloc(bytes);
}

static inline void vfree(const void *block)
{
	dry_free(NULL, (void *)(uintptr_t)block);
}

/* As any memory here, it is not mapped apart: false, and a page is where its address says. */
static inline bool is_vmalloc_addr(const void *address)
{
	(void)address;
	return false;
}

static inline struct page *vmalloc_to_page(const void *address)
{
	return virt_to_page(address);
}

#ifndef VM_ALLOC
#define VM_IOREMAP       0x01ul
#define VM_ALLOC         0x02ul
#define VM_MAP           0x04ul
#define VM_USERMAP       0x08ul
#define VM_UNINITIALIZED 0x20ul
#define VM_NO_GUARD      0x40ul
#define VM_KASAN         0x80ul
#endif
#ifndef PAGE_KERNEL
#define PAGE_KERNEL      0
#define PAGE_KERNEL_EXEC 1
#endif

/* Pages that lie side by side as one block; NULL for others: nothing can be mapped twice here. */
static inline void *vmap(struct page **pages, unsigned int count, unsigned long flags, int protection)
{
	unsigned int i = 0;

	(void)flags;
	(void)protection;
	while (i < count && (uintptr_t)pages[i] == (uintptr_t)pages[0] + i * KMEM_PAGE_SIZE)
		i++;
	return count != 0 && i == count ? page_address(pages[0]) : NULL;
}

/* The pages stay whose they are. */
static inline void vunmap(const void *address)
{
	(void)address;
}

#ifdef __cplusplus
}
#endif
#endif
