/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include <stdarg.h>
#include <sys/mman.h>

#include "mm/slab.h"
#include "mocked.h"

#define PAGES 16384u

unsigned int nr_cpu_ids = NR_CPUS, nr_node_ids = 1, mock_held, mock_atomic, mock_pinned, mock_deferred;
void (*mock_handler)(void);
unsigned long max_low_pfn = PAGES, max_pfn = PAGES, min_low_pfn, mock_total = PAGES;
long mock_pages_out, mock_slab_bytes;
bool mock_no_pages, mock_no_waking;
unsigned int mock_fails, mock_waits, mock_pieces;
int mock_used_up = -1;
bool mock_memoryless;
gfp_t gfp_allowed_mask = ~0u;
struct page *mock_pages;
char *mock_memory;
void (*mock_work)(struct work_struct *);
int (*mock_memory_changes)(struct notifier_block *block, unsigned long what, void *arg);
struct task *current = &(struct task){ .pid = 1 };
unsigned int mock_reports, mock_told;
char mock_text[512];

static unsigned int cpu;
static struct rnd_state chance = { 1 };

void mock_wrong(const char *what, ...)
{
	fprintf(stderr, "wrong: %s; last report: %s\n", what, mock_text);
	exit(1);
}

void mock_log(const char *format, ...)
{
	char line[sizeof(mock_text)];
	va_list ap;

	if (mock_held != 0 && mock_deferred == 0)
		mock_wrong("a console prints with a lock held");
	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	fputs(line, stderr);
	mock_reports += strstr(line, "drystone: ") != NULL;
	mock_told += strstr(line, "drystone-object: ") != NULL;
	if (strstr(line, "drystone-object: ") == NULL)
		memcpy(mock_text, line, sizeof(line));
}

/* ---- processors, interrupts, locks ---- */

/* Whoever has interrupts and preemption on may be moved. */
unsigned int raw_smp_processor_id(void)
{
	if (mock_atomic == 0 && mock_pinned == 0 && prandom_u32_state(&chance) % 8 == 0)
		cpu = prandom_u32_state(&chance) % 2 * 2;
	return cpu;
}

unsigned int mock_variables_of(unsigned int cpu)
{
	if (!cpu_possible(cpu))
		mock_wrong("variables of a processor that cannot be");
	return cpu;
}

void mock_irq_save(unsigned long *flags)
{
	raw_smp_processor_id();
	*flags = mock_atomic;
	mock_atomic++;
}

void mock_irq_restore(unsigned long flags)
{
	if (mock_atomic != flags + 1)
		mock_wrong("interrupts are restored in another order than they were saved");
	mock_atomic = (unsigned int)flags;
	mock_interrupt();
}

void mock_interrupt(void)
{
	unsigned long flags;

	if (mock_handler == NULL || mock_atomic != 0 || prandom_u32_state(&chance) % 8 != 0)
		return;
	mock_irq_save(&flags);
	mock_handler();
	mock_irq_restore(flags);
}

static const cpumask_t online = { 5 };
const cpumask_t *const cpu_online_mask = &online;

void mock_on_each_cpu(const cpumask_t *mask, void (*fn)(void *), void *arg)
{
	unsigned long bits = mask->bits & online.bits;
	unsigned int here = cpu;

	if (mock_atomic != 0)
		mock_wrong("IPI with interrupts off");
	mock_atomic++;
	for_each_online_cpu(cpu)
		if (bits >> cpu & 1)
			fn(arg);
	cpu = here;
	mock_atomic--;
}

void mock_spin(spinlock_t *lock)
{
	if (lock->held)
		mock_wrong("a spinlock is taken twice");
	lock->held = true;
	mock_held++;
}

void mock_unspin(spinlock_t *lock)
{
	if (!lock->held)
		mock_wrong("a spinlock is released that nobody has");
	lock->held = false;
	mock_held--;
}

static void may_sleep(void)
{
	if (mock_atomic != 0 && slab_state == FULL)
		mock_wrong("sleep with interrupts off");
}

void mutex_lock(struct mutex *mutex)
{
	may_sleep();
	if (!mutex_trylock(mutex))
		mock_wrong("a mutex is taken twice");
}

bool mutex_trylock(struct mutex *mutex)
{
	bool got = !mutex->held;

	mutex->held = true;
	return got;
}

void mutex_unlock(struct mutex *mutex)
{
	if (!mutex->held)
		mock_wrong("a mutex is released that nobody has");
	mutex->held = false;
}

void mock_might(gfp_t gfp)
{
	if (gfp & __GFP_DIRECT_RECLAIM)
		may_sleep();
}

static struct rcu_head *graced;

void call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *))
{
	head->func = func;
	head->next = graced;
	graced = head;
}

void rcu_barrier(void)
{
	may_sleep();
	while (graced != NULL) {
		struct rcu_head *head = graced;
		graced = head->next;
		head->func(head);
	}
}

void prandom_seed_state(struct rnd_state *rnd, u64 seed)
{
	rnd->state = seed * 0x9e3779b97f4a7c15u + 1;
}

u32 prandom_u32_state(struct rnd_state *rnd)
{
	rnd->state = rnd->state * 6364136223846793005u + 1442695040888963407u;
	return (u32)(rnd->state >> 33);
}

void *memchr_inv(const void *at, int byte, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (((const u8 *)at)[i] != (u8)byte)
			return (u8 *)at + i;
	return NULL;
}

/* ---- pages ---- */

static void open_memory(void)
{
	size_t bytes = PAGES * PAGE_SIZE, largest = PAGE_SIZE << MAX_ORDER;
	char *at = mmap(NULL, bytes + largest, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		exit(77);
	mock_memory = at + (-(uintptr_t)at & (largest - 1));
	mock_pages = calloc(PAGES, sizeof(*mock_pages));
	for (size_t i = 0; i < PAGES; i++)
		mock_pages[i].mapcount = -1;
}

int get_order(size_t bytes)
{
	int order = 0;

	while (PAGE_SIZE << order < bytes)
		order++;
	return order;
}

/* A tail knows its head, a head of several pages its order, as the second page's mapping. */
struct folio *mock_folio(struct page *page)
{
	return (struct folio *)(page->compound_head & 1 ? (struct page *)(page->compound_head & ~1ul) : page);
}

int folio_order(struct folio *folio)
{
	struct page *head = &folio->page;

	return head[1].compound_head == ((unsigned long)head | 1) ? (int)(uintptr_t)head[1].mapping : 0;
}

bool virt_addr_valid(const void *at)
{
	return (const char *)at >= mock_memory && (const char *)at < mock_memory + PAGES * PAGE_SIZE;
}

static bool all_free(const struct page *page, unsigned long count)
{
	if (page_to_nid(page) == mock_used_up)
		return false;
	for (unsigned long i = 0; i < count; i++)
		if (page[i].refcount != 0)
			return false;
	return true;
}

static unsigned long at_hand; /* pages that came back since nobody gets any without waiting */

int mock_nearest(int node)
{
	return mock_memoryless && node == mock_used_up ? (node + 1) % (int)nr_node_ids : node;
}

/* Each node has a share of the pages, and looks for some there first; or there alone. */
struct page *alloc_pages_node(int wanted, gfp_t gfp, unsigned int order)
{
	const bool alone = gfp & __GFP_THISNODE;
	const int node = wanted == NUMA_NO_NODE && alone ? numa_mem_id() : wanted;
	const unsigned long count = 1ul << order, share = PAGES / nr_node_ids, from = node > 0 ? share * (unsigned long)node : 0;
	const unsigned long end = alone ? from + share : PAGES;
	unsigned long pfn = ALIGN(from, count);

	if (alone && mock_nearest(node) != node && (gfp & __GFP_NOWARN))
		mock_wrong("a node is asked that is not there");
	if (gfp & __GFP_DIRECT_RECLAIM)
		may_sleep();
	if (mock_held != 0 && (gfp & (__GFP_RECLAIM | __GFP_HIGH)))
		mock_wrong("pages are waited for, or others woken for them, with a lock held");
	if (mock_no_waking && ((gfp & (__GFP_RECLAIM | __GFP_HIGH)) || !(gfp & __GFP_NOMEMALLOC)))
		mock_wrong("a free asks for pages, and wakes others for them or uses up the last");
	if ((gfp & __GFP_NOMEMALLOC) && (gfp & (__GFP_RECLAIM | __GFP_HIGH)))
		mock_wrong("who can do with fewer pages uses up a reserve, or has others freed");
	if (gfp & __GFP_MOVABLE)
		mock_wrong("pages of objects cannot be moved");
	if ((gfp & __GFP_NOFAIL) && order > 1)
		mock_wrong("so many pages cannot be promised");
	if (mock_no_pages && !(gfp & __GFP_DIRECT_RECLAIM)) {
		if (at_hand < count || count > 1) /* what came back did so page by page */
			return NULL;
		at_hand -= count;
	}
	if (mock_fails != 0 && !(gfp & __GFP_NOFAIL)) {
		mock_fails--;
		return NULL;
	}
	if (mock_pieces != 0 && count > mock_pieces) {
		if (!(gfp & __GFP_NOWARN))
			mock_wrong("the log is told that there are no such pages");
		return NULL;
	}
	for (; pfn + count <= end && !all_free(mock_pages + pfn, count); pfn += count)
		;
	if (pfn + count > end && node > 0 && !alone)
		return alloc_pages_node(NUMA_NO_NODE, gfp, order);
	if (order >= MAX_ORDER || pfn + count > end)
		return NULL;
	struct page *head = mock_pages + pfn;
	head->refcount = 1;
	for (unsigned long i = 1; i < count; i++)
		head[i].refcount = -1; /* not to be had, and not to be freed alone */
	for (unsigned long i = 1; i < count && (gfp & __GFP_COMP); i++)
		head[i].compound_head = (unsigned long)head | 1;
	if (count > 1 && (gfp & __GFP_COMP))
		head[1].mapping = (void *)(uintptr_t)order;
	mock_pages_out += (long)count;
	memset(page_address(head), gfp & __GFP_ZERO ? 0 : 0xa5, count << PAGE_SHIFT);
	return head;
}

void __free_pages(struct page *page, unsigned int order)
{
	if (page->refcount != 1 || page->mapcount != -1 || page->mapping != NULL || page->flags != 0 || page->memcg_data != 0)
		mock_wrong("a page comes back that is in use, or marked still");
	if (order != 0 && (page[1].compound_head & 1) && folio_order((struct folio *)page) != (int)order)
		mock_wrong("a compound page comes back in another size");
	memset(page_address(page), 0x5a, PAGE_SIZE << order);
	for (unsigned long i = 0; i < 1ul << order; i++)
		page[i] = (struct page){ .mapcount = -1 };
	mock_pages_out -= 1l << order;
	at_hand = mock_no_pages ? at_hand + (1ul << order) : 0;
}

void split_page(struct page *page, unsigned int order)
{
	for (unsigned long i = 1; i < 1ul << order; i++)
		page[i].refcount = 1;
}

void *alloc_pages_exact(size_t bytes, gfp_t gfp)
{
	unsigned int order = get_order(bytes);
	struct page *page = alloc_pages(gfp, order);

	if (page == NULL)
		return NULL;
	split_page(page, order);
	for (unsigned long i = PAGE_ALIGN(bytes) >> PAGE_SHIFT; i < 1ul << order; i++)
		__free_page(page + i);
	return page_address(page);
}

void free_pages_exact(void *at, size_t bytes)
{
	for (unsigned long i = 0; i < PAGE_ALIGN(bytes) >> PAGE_SHIFT; i++)
		__free_page(virt_to_page(at) + i);
}

/* Others may look at it from then on. */
void mock_clear_slab(struct page *page)
{
	if (page->mapping != NULL)
		mock_wrong("what was a slab has a mapping");
	page->flags &= ~1ul;
}

void page_mapcount_reset(struct page *page)
{
	page->mapcount = -1;
}

/* ---- what all allocators share ---- */

enum slab_state slab_state;
struct mutex slab_mutex;
LIST_HEAD(slab_caches);
struct kmem_cache *kmem_cache;

void *kmalloc_large_node(size_t size, gfp_t flags, int node)
{
	unsigned int order = get_order(size);
	struct page *page = alloc_pages(flags | __GFP_COMP, order);

	(void)node;
	if (page == NULL)
		return NULL;
	mock_slab_bytes += (long)(PAGE_SIZE << order);
	return page_address(page);
}

void *krealloc(const void *at, size_t size, gfp_t flags)
{
	size_t had = ZERO_OR_NULL_PTR(at) ? 0 : ksize(at);
	void *new = had >= size ? (void *)at : kmalloc(size, flags);

	if (new == at || new == NULL)
		return new;
	if (had != 0)
		memcpy(new, at, had);
	kfree(at);
	return new;
}

struct kmem_cache *kmem_cache_create(const char *name, unsigned int size, unsigned int align, slab_flags_t flags,
				     void (*ctor)(void *))
{
	struct kmem_cache *s = kmem_cache_alloc(kmem_cache, GFP_KERNEL | __GFP_ZERO);

	mutex_lock(&slab_mutex);
	s->name = name;
	s->size = s->object_size = size;
	s->align = max(align, flags & SLAB_HWCACHE_ALIGN ? 64u : 8u);
	s->ctor = ctor;
	s->refcount = 1;
	if (__kmem_cache_create(s, flags) != 0)
		mock_wrong("a cache cannot be");
	list_add(&s->list, &slab_caches);
	mutex_unlock(&slab_mutex);
	return s;
}

void kmem_cache_destroy(struct kmem_cache *s)
{
	mutex_lock(&slab_mutex);
	if (__kmem_cache_shutdown(s) != 0)
		mock_wrong("a cache has objects");
	list_del(&s->list);
	mutex_unlock(&slab_mutex);
	rcu_barrier();
	__kmem_cache_release(s);
	kmem_cache_free(kmem_cache, s);
}

int kmem_cache_shrink(struct kmem_cache *s)
{
	return __kmem_cache_shrink(s);
}

unsigned int kmem_cache_size(struct kmem_cache *s)
{
	return s->object_size;
}

void mock_boot(void)
{
	open_memory();
	mock_atomic = 1;
	kmem_cache_init();
	mock_atomic = 0;
	kmem_cache_init_late();
}
