/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A mock of KFENCE: while mock_sampling is set, every so many allocations of a cache's are given a page of their own. An
 * object ends with its page, or nearly so, and what is around it must be as it was when it comes back.
 */
#include "mm/slab.h"
#include "mocked.h"

#define EVERY  7
#define AROUND 0xe7

bool mock_sampling;
unsigned long mock_samples_out, mock_samples;

static struct {
	char *start; /* NULL: no sample lies in the page */
	size_t size;
	struct kmem_cache *cache;
} *sample; /* [max_pfn] */

static unsigned long number_of(const void *at)
{
	return page_to_pfn(virt_to_page(at));
}

bool is_kfence_address(const void *at)
{
	return sample != NULL && virt_addr_valid(at) && sample[number_of(at)].start != NULL;
}

void *kfence_object_start(const void *at)
{
	return sample[number_of(at)].start;
}

size_t kfence_ksize(const void *at)
{
	return sample[number_of(at)].size;
}

static void place(struct page *page, struct kmem_cache *s, size_t size)
{
	struct slab *slab = page_slab(page);
	char *start = (char *)page_address(page) + ((PAGE_SIZE - size) & ~((size_t)s->align - 1));

	memset(page_address(page), AROUND, PAGE_SIZE);
	sample[page_to_pfn(page)].start = start;
	sample[page_to_pfn(page)].size = size;
	sample[page_to_pfn(page)].cache = s;
	__folio_set_slab(slab_folio(slab));
	slab->slab_cache = s;
	slab->s_mem = start;
}

void *kfence_alloc(struct kmem_cache *s, size_t size, gfp_t flags)
{
	static unsigned int asked;
	struct page *page;

	if (!mock_sampling || ++asked % EVERY != 0 || size > PAGE_SIZE || s->flags & SLAB_TYPESAFE_BY_RCU)
		return NULL;
	if (sample == NULL)
		sample = calloc(max_pfn, sizeof(*sample));
	page = alloc_pages(GFP_NOWAIT, 0);
	if (page == NULL)
		return NULL;
	place(page, s, size);
	if (flags & __GFP_ZERO)
		memset(kfence_object_start(page_address(page)), 0, size);
	if (s->ctor != NULL)
		s->ctor(kfence_object_start(page_address(page)));
	mock_samples_out++;
	mock_samples++;
	return kfence_object_start(page_address(page));
}

void __kfence_free(void *object)
{
	struct page *page = virt_to_page(object);
	unsigned long pfn = page_to_pfn(page);
	char *from = page_address(page), *start = sample[pfn].start, *end = start + sample[pfn].size;
	size_t behind = (size_t)(from + PAGE_SIZE - end);

	if (object != start || page_slab(page)->slab_cache != sample[pfn].cache || page_slab(page)->s_mem != start)
		mock_wrong("a sample comes back as something else");
	if (memchr_inv(from, AROUND, (size_t)(start - from)) != NULL || memchr_inv(end, AROUND, behind) != NULL)
		mock_wrong("what is around a sample was written to");
	sample[pfn].start = NULL;
	mock_samples_out--;
	page->mapping = NULL;
	__folio_clear_slab((struct folio *)page);
	__free_pages(page, 0);
}
