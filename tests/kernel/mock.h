/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * As much of Linux's interfaces as the files of kernel/ ask for, written for this test, in one thread: two processors
 * that the caller is moved between whenever interrupts may come, pages of an arena that are looked over when they come back, and
 * locks that know where they must not be taken. It is included in front of each file; what a file includes of linux/ is empty.
 */
#ifndef DRY_TESTS_KERNEL_MOCK_H
#define DRY_TESTS_KERNEL_MOCK_H

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef unsigned int gfp_t, slab_flags_t;
typedef int pg_data_t;

#define U64_MAX UINT64_MAX
#define U32_MAX UINT32_MAX
#define __user
#define __init
#define __noreturn      _Noreturn
#define __printf(a, b)
#define noinline        __attribute__((__noinline__))
#ifndef __always_inline
#define __always_inline inline __attribute__((__always_inline__))
#endif
#define likely(x)       (mock_interrupt(), __builtin_expect(!!(x), 1))
#define unlikely(x)     __builtin_expect(!!(x), 0)
#define READ_ONCE(x)    (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, to) (*(volatile __typeof__(x) *)&(x) = (to))
#define IS_ENABLED(option) 0
#define ARRAY_SIZE(a)   (sizeof(a) / sizeof((a)[0]))
#define container_of(at, type, member) ((type *)((char *)(at) - offsetof(type, member)))
#define struct_size(at, member, n) (sizeof(*(at)) + sizeof((at)->member[0]) * (n))
#define DIV_ROUND_UP(a, b) (((a) + (b) - 1) / (b))
#define ALIGN(x, to)       (((x) + (to) - 1) & ~((__typeof__(x))(to) - 1))
#define IS_ALIGNED(x, to)  (((x) & ((__typeof__(x))(to) - 1)) == 0)
#define min(a, b)          ((a) < (b) ? (a) : (b))
#define max(a, b)          ((a) > (b) ? (a) : (b))
#define min_t(type, a, b)  min((type)(a), (type)(b))
#define max_t(type, a, b)  max((type)(a), (type)(b))
#define clamp_t(type, x, low, high) min_t(type, max_t(type, x, low), high)
#define swap(a, b) do { __typeof__(a) other = (a); (a) = (b); (b) = other; } while (0)
#define is_power_of_2(x)   ((x) != 0 && ((x) & ((x) - 1)) == 0)
#define roundup_pow_of_two(x) ((size_t)1 << (64 - __builtin_clzll((unsigned long long)(x) - ((x) > 1)) - ((x) == 1)))
#define xchg(at, value)    __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST)
#define static_assert      _Static_assert
#define dump_stack()       ((void)0)
#define BUG()              mock_wrong("BUG")
#define panic(...)         mock_wrong(__VA_ARGS__)
#define SZ_1K              1024
#define SZ_4K              4096
#define SZ_16K             16384
#define SZ_32K             32768
#define SZ_64K             65536

#define kasan_cache_create(s, size, flags) ((void)(size))
#define kasan_poison_slab(slab)            ((void)(slab))
#define kasan_init_slab_obj(s, object)     (object)
#define kasan_slab_free(s, object, init)   (false)
#define KERN_ALERT         ""
#define OPTIMIZER_HIDE_VAR(x) __asm__("" : "+r"(x))
#define PTR_ALIGN_DOWN(at, to) ((__typeof__(at))((uintptr_t)(at) & ~((uintptr_t)(to) - 1)))
#define jiffies            1000ul
#define jiffies_to_msecs(n) (n)
#define get_random_u64()   0x9e3779b97f4a7c15ull
#define print_hex_dump(level, prefix, type, row, group, from, n, text) ((void)(from), (void)(n))
#define __setup(word, fn)  int mock_setup_##fn(char *text); int mock_setup_##fn(char *text) { return fn(text); }
#define __setup_param(word, name, fn, early) extern int mock_##name
#define stack_depot_want_early_init() ((void)0)

_Noreturn void mock_wrong(const char *what, ...);
void mock_log(const char *format, ...);
#define pr_alert mock_log
#define pr_err   mock_log
#define pr_info  mock_log

/* ---- lists ---- */

struct list_head {
	struct list_head *next, *prev;
};
#define LIST_HEAD(name) struct list_head name = { &(name), &(name) }
#define list_entry(at, type, member) container_of(at, type, member)
#define list_for_each_entry(at, head, member) \
	for (at = list_entry((head)->next, __typeof__(*at), member); &at->member != (head); \
	     at = list_entry(at->member.next, __typeof__(*at), member))
static inline void list_add(struct list_head *link, struct list_head *head)
{
	link->next = head->next;
	link->prev = head;
	head->next->prev = link;
	head->next = link;
}
static inline void list_del(struct list_head *link)
{
	link->next->prev = link->prev;
	link->prev->next = link->next;
}

/* ---- processors, interrupts, locks ---- */

#define NR_CPUS 3 /* of which number 1 is none */
extern unsigned int nr_cpu_ids, nr_node_ids, mock_held, mock_atomic; /* spinlocks held; depth of interrupts off */
extern unsigned int mock_pinned;                                     /* depth of preemption off */
extern unsigned int mock_deferred;                                   /* depth of what consoles print later */
#define printk_deferred_enter() ((void)mock_deferred++)
#define printk_deferred_exit()  ((void)mock_deferred--)
unsigned int raw_smp_processor_id(void);
#define smp_processor_id raw_smp_processor_id
#define num_online_cpus() 2
#define num_possible_cpus() 2
#define cpu_possible(cpu) ((cpu) != 1)
extern unsigned long mock_total; /* pages of the machine, as it says: by them arrays and depots are sized */
#define totalram_pages()    mock_total
#define for_each_online_cpu(cpu) for (cpu = 0; cpu < NR_CPUS; cpu += 2)
#define for_each_possible_cpu for_each_online_cpu
typedef struct {
	unsigned long bits;
} cpumask_t;
extern const cpumask_t *const cpu_online_mask;
#define cpumask_copy(to, from)       ((void)(*(to) = *(from)))
#define cpumask_and(to, one, two)    ((void)((to)->bits = (one)->bits & (two)->bits))
#define cpumask_empty(mask)          ((mask)->bits == 0)
#define cpumask_clear_cpu(cpu, mask) ((void)((mask)->bits &= ~(1ul << (cpu))))
#define for_each_online_node(node) for (node = 0; node < (int)nr_node_ids; node++)
void mock_irq_save(unsigned long *flags);
void mock_irq_restore(unsigned long flags);
#define local_irq_save(flags)    mock_irq_save(&(flags))
#define local_irq_restore(flags) mock_irq_restore(flags)
#define irqs_disabled()          (mock_atomic != 0)
#define in_interrupt()           0
void mock_on_each_cpu(const cpumask_t *mask, void (*fn)(void *), void *arg);
#define on_each_cpu_mask(mask, fn, arg, wait) mock_on_each_cpu(mask, fn, arg)
#define preempt_disable() ((void)mock_pinned++)
#define preempt_enable()  ((void)mock_pinned--)
#define barrier()         ((void)0)
#define smp_wmb()         ((void)0)
#define smp_mb()          ((void)0)
#define smp_store_release(to, what) ((void)(*(to) = (what)))
extern void (*mock_handler)(void); /* of an interrupt, which may come before each likely(), and when interrupts are on again */
void mock_interrupt(void);

#define DECLARE_PER_CPU(type, name) extern type name[NR_CPUS]
#define DEFINE_PER_CPU(type, name)  type name[NR_CPUS]
unsigned int mock_variables_of(unsigned int cpu);
#define per_cpu(name, cpu)          ((name)[mock_variables_of(cpu)])
#define __this_cpu_read(name)       ((name)[raw_smp_processor_id()])
#define __this_cpu_write(name, to)  ((name)[raw_smp_processor_id()] = (to))

typedef struct {
	bool held;
} spinlock_t;
struct lock_class_key {
	int unused;
};
struct mutex {
	bool held;
};
#define DEFINE_SPINLOCK(name) spinlock_t name
#define spin_lock_init(lock) ((lock)->held = false)
#define lockdep_set_class(lock, key) ((void)(lock), (void)(key))
#define spin_lock_irqsave(lock, flags) (mock_irq_save(&(flags)), mock_spin(lock))
#define spin_is_locked(lock) ((lock)->held)
#define spin_trylock_irqsave(lock, flags) ((lock)->held ? false : (spin_lock_irqsave(lock, flags), true))
#define spin_unlock_irqrestore(lock, flags) (mock_unspin(lock), mock_irq_restore(flags))
#define __mutex_init(mutex, name, key) ((mutex)->held = false, (void)(key))
void mock_spin(spinlock_t *lock);
void mock_unspin(spinlock_t *lock);
void mutex_lock(struct mutex *mutex);
void mutex_unlock(struct mutex *mutex);
bool mutex_trylock(struct mutex *mutex);
#define might_alloc(gfp) mock_might(gfp)
#define should_failslab(s, gfp) 0 /* IS_ENABLED() says that nobody can make it fail */
void mock_might(gfp_t gfp);

typedef struct {
	long value;
} atomic_t, atomic_long_t;
#define ATOMIC_INIT(n) { n }
#define atomic_read(a)        ((int)(a)->value)
#define atomic_set(a, n)      ((a)->value = (n))
#define atomic_inc_return(a)  (++(a)->value)
#define atomic_dec_and_test(a) (--(a)->value == 0)
#define atomic_long_read(a)   ((a)->value)
#define atomic_long_add(n, a) ((a)->value += (long)(n))
#define atomic_long_sub(n, a) ((a)->value -= (long)(n))

struct rcu_head {
	struct rcu_head *next;
	void (*func)(struct rcu_head *head);
};
void call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *));
void rcu_barrier(void);
#define rcu_read_lock()   ((void)0)
#define rcu_read_unlock() ((void)0)

struct work_struct {
	int unused;
};
#define HZ 100
struct notifier_block;
enum { MEM_GOING_OFFLINE = 2, MEM_ONLINE = 4, MEM_GOING_ONLINE = 8, NOTIFY_OK = 1, NOTIFY_BAD = 2, SLAB_CALLBACK_PRI = 1 };
struct memory_notify {
	unsigned long start_pfn, nr_pages;
};
extern int (*mock_memory_changes)(struct notifier_block *block, unsigned long what, void *arg);
#define hotplug_memory_notifier(fn, priority) (mock_memory_changes = (fn))
#define DECLARE_DEFERRABLE_WORK(name, fn) struct { void (*run)(struct work_struct *); } name = { fn }
#define schedule_delayed_work(work, delay) (mock_work = (work)->run)
#define late_initcall(fn) int mock_initcall_##fn(void); int mock_initcall_##fn(void) { return fn(); }
#define core_initcall(fn) int mock_core_initcall_##fn(void); int mock_core_initcall_##fn(void) { return fn(); }
#define late_initcall_sync late_initcall
#define module_init late_initcall
#define module_exit(fn) void (*mock_exitcall_##fn(void))(void); void (*mock_exitcall_##fn(void))(void) { return fn; }
#define module_param(name, type, mode) extern int mock_param_##name
#define MODULE_LICENSE(text) extern int mock_license
#define __exit
extern void (*mock_work)(struct work_struct *);

/* The other thread runs before who started it goes on. */
struct completion {
	int unused;
};
#define init_completion(c)     ((void)(c))
#define complete(c)            ((void)(c))
#define wait_for_completion(c) ((void)(c))
#define cond_resched()         ((void)0)
#define kthread_run_on_cpu(fn, arg, cpu, name) ((fn)(arg), (void *)1)
#define IS_ERR(at) ((at) == NULL)

struct rnd_state {
	u64 state;
};
void prandom_seed_state(struct rnd_state *rnd, u64 seed);
u32 prandom_u32_state(struct rnd_state *rnd);
void *memchr_inv(const void *at, int byte, size_t size);

/* ---- pages ---- */

#define PAGE_SHIFT 12
#define PAGE_SIZE  4096ul
#define PAGE_ALIGN(n) ALIGN(n, PAGE_SIZE)
#define MAX_ORDER  11
#define PAGE_ALLOC_COSTLY_ORDER 3
#define PFN_PHYS(pfn) ((unsigned long)(pfn) << PAGE_SHIFT)
#define NUMA_NO_NODE (-1)
enum { __GFP_ZERO = 1, __GFP_COMP = 2, __GFP_NOWARN = 4, __GFP_RECLAIMABLE = 8, __GFP_BUG = 16, GFP_DMA = 32, GFP_DMA32 = 64,
       __GFP_HIGH = 128, __GFP_KSWAPD_RECLAIM = 256, __GFP_DIRECT_RECLAIM = 512, __GFP_ACCOUNT = 1024, __GFP_NOFAIL = 2048,
       __GFP_MOVABLE = 4096, __GFP_RETRY_MAYFAIL = 8192, __GFP_NOMEMALLOC = 16384, __GFP_THISNODE = 32768,
       __GFP_RECLAIM = __GFP_DIRECT_RECLAIM | __GFP_KSWAPD_RECLAIM, GFP_KERNEL = __GFP_RECLAIM,
       GFP_NOWAIT = __GFP_KSWAPD_RECLAIM, GFP_ATOMIC = __GFP_HIGH | __GFP_KSWAPD_RECLAIM };
#define GFP_SLAB_BUG_MASK   __GFP_BUG
#define GFP_RECLAIM_MASK    (__GFP_RECLAIM | __GFP_HIGH | __GFP_NOWARN | __GFP_NOFAIL | __GFP_RETRY_MAYFAIL)
#define GFP_CONSTRAINT_MASK __GFP_THISNODE

struct page {
	unsigned long flags;         /* bit 0: slab */
	unsigned long compound_head; /* bit 0: a tail's; else the allocator's to use */
	unsigned long unused;
	void *mapping;
	unsigned long more[2];
	int mapcount;                /* -1: none */
	int refcount;                /* 0: free */
	unsigned long memcg_data;
};
struct folio {
	union {
		struct page page;
		struct {
			unsigned long unnamed[3];
			void *mapping;
		};
	};
};

extern struct page *mock_pages;
extern char *mock_memory;
extern unsigned long max_low_pfn, max_pfn, min_low_pfn;
#define memblock_end_of_DRAM() ((unsigned long)max_pfn << PAGE_SHIFT)
#define PFN_UP(x) (((x) + PAGE_SIZE - 1) >> PAGE_SHIFT)
extern long mock_pages_out, mock_slab_bytes;
extern gfp_t gfp_allowed_mask;
extern bool mock_no_pages;                 /* those that may not wait get none */
extern bool mock_no_waking;                /* nobody asks for pages so that who makes some free is woken, or takes the last */
extern unsigned int mock_fails;            /* so many get none, whoever asks */
extern unsigned int mock_pieces;           /* of more than so many pages in a row there are none; 0: there are */
extern unsigned int mock_waits;            /* for memory, until there may be some */
extern int mock_used_up;                   /* a node that has no pages left; -1: none */
extern bool mock_memoryless;               /* ... and never had any: its list of zones begins with another node's */
#define memalloc_retry_wait(gfp) ((void)(gfp), (void)mock_waits++)
struct page *alloc_pages_node(int node, gfp_t gfp, unsigned int order);
#define alloc_pages(gfp, order) alloc_pages_node(NUMA_NO_NODE, gfp, order)
void __free_pages(struct page *page, unsigned int order);
#define __free_page(page) __free_pages(page, 0)
void split_page(struct page *page, unsigned int order);
void *alloc_pages_exact(size_t bytes, gfp_t gfp);
void free_pages_exact(void *at, size_t bytes);
void page_mapcount_reset(struct page *page);
int get_order(size_t bytes);
bool virt_addr_valid(const void *at);
#define page_to_pfn(page)   ((unsigned long)((page) - mock_pages))
#define pfn_to_page(pfn)    (mock_pages + (pfn))
#define page_address(page)  ((void *)(mock_memory + (page_to_pfn(page) << PAGE_SHIFT)))
#define __va(physical)      ((void *)(mock_memory + (physical)))
#define virt_to_page(at)    (mock_pages + (((const char *)(at) - mock_memory) >> PAGE_SHIFT))
#define page_to_nid(page)   ((int)(page_to_pfn(page) * nr_node_ids / max_pfn))
#define virt_to_folio(at)   mock_folio(virt_to_page(at))
#define virt_to_head_page(at) (&virt_to_folio(at)->page)
struct folio *mock_folio(struct page *page);
#define folio_page(folio, n)   (&(folio)->page + (n))
#define folio_test_slab(folio) ((folio)->page.flags & 1)
#define folio_test_large(folio) (folio_order(folio) != 0)
#define __folio_set_slab(folio)   ((folio)->page.flags |= 1)
#define __folio_clear_slab(folio) mock_clear_slab(&(folio)->page)
void mock_clear_slab(struct page *page);
#define __SetPageSlab(page)       ((page)->flags |= 1)
#define __ClearPageSlab(page)     ((page)->flags &= ~1ul)
int folio_order(struct folio *folio);
#define folio_size(folio)  (PAGE_SIZE << folio_order(folio))
#define folio_pgdat(folio) 0
#define page_pgdat(page)   0
#define numa_mem_id()      ((int)(raw_smp_processor_id() / 2 % nr_node_ids)) /* a processor a node */
#define cpu_to_node(cpu)   ((int)((cpu) / 2 % nr_node_ids))
struct zoneref {
	int node;
};
int mock_nearest(int node); /* that has memory */
#define node_zonelist(node, gfp) (node)
#define gfp_zone(gfp)            0
#define first_zones_zonelist(list, zone, nodes) (&(struct zoneref){ mock_nearest(list) })
#define zonelist_zone(ref)       (ref)
#define zonelist_node_idx(ref)   ((ref)->node)
enum { NR_SLAB_UNRECLAIMABLE_B };
#define mod_node_page_state(node, item, by) (mock_slab_bytes += (long)(by))

struct reclaim_state {
	unsigned long reclaimed_slab;
};
struct task {
	unsigned int pid;
	struct reclaim_state *reclaim_state;
};
extern struct task *current;
struct obj_cgroup;
struct list_lru;
struct seq_file;
struct file;
#define vmalloc malloc
#define vfree   free
#define div_u64(a, b) ((a) / (b))
#define copy_from_user(to, from, n) (memcpy(to, from, n), 0)

/* ---- what is done with objects besides ---- */

#define MOCK_EXPORT(name)   extern int mock_exported_##name
#define EXPORT_SYMBOL(name) MOCK_EXPORT(name) /* of what the name stands for */
#define _RET_IP_ 0ul
#define trace_kmem_cache_alloc(...) ((void)0)
#define trace_kmem_cache_free(...)  ((void)0)
#define trace_kmalloc(...)          ((void)0)
#define trace_kfree(...)            ((void)0)
#define kmemleak_alloc(...)         ((void)0)
#define kmemleak_alloc_recursive(...) ((void)0)
#define kmemleak_free(...)          ((void)0)
#define kmemleak_free_recursive(...) ((void)0)
#define debug_check_no_locks_freed(...) ((void)0)
#define debug_check_no_obj_freed(...) ((void)0)
#define memcg_kmem_enabled() true

/* ---- KFENCE: samples.c, in place of SLAB alone ---- */

extern bool mock_sampling;
extern unsigned long mock_samples_out, mock_samples; /* now, and ever */

/* ---- linux/slab.h ---- */

enum { SLAB_HWCACHE_ALIGN = 1, SLAB_TYPESAFE_BY_RCU = 2, SLAB_RECLAIM_ACCOUNT = 4, SLAB_CACHE_DMA = 8, SLAB_CACHE_DMA32 = 16,
       SLAB_PANIC = 32, SLAB_KMALLOC = 4096, SLAB_ACCOUNT = 8192, SLAB_DEBUG_OBJECTS = 64, SLAB_CONSISTENCY_CHECKS = 128,
       SLAB_RED_ZONE = 256, SLAB_POISON = 512, SLAB_STORE_USER = 1024, SLAB_TRACE = 2048, SLAB_FAILSLAB = 0,
       SLAB_NO_USER_FLAGS = 16384, SLAB_NOLEAKTRACE = 32768 };
#ifndef ARCH_KMALLOC_MINALIGN
#define ARCH_KMALLOC_MINALIGN 8
#endif
#define ZERO_SIZE_PTR ((void *)16)
#define ZERO_OR_NULL_PTR(at) ((unsigned long)(at) <= 16)
struct kmem_cache;
struct slab;
void *kfence_alloc(struct kmem_cache *s, size_t size, gfp_t flags);
bool is_kfence_address(const void *at);
void *kfence_object_start(const void *at);
void __kfence_free(void *object);
#define kfence_free(object) (is_kfence_address(object) ? (__kfence_free(object), true) : false)
size_t kfence_ksize(const void *at);
void kmem_cache_init(void);
void kmem_cache_init_late(void);
struct kmem_cache *kmem_cache_create(const char *name, unsigned int size, unsigned int align, slab_flags_t flags,
				     void (*ctor)(void *));
void kmem_cache_destroy(struct kmem_cache *s);
int kmem_cache_shrink(struct kmem_cache *s);
unsigned int kmem_cache_size(struct kmem_cache *s);
void *kmem_cache_alloc(struct kmem_cache *s, gfp_t flags);
void *kmem_cache_alloc_lru(struct kmem_cache *s, struct list_lru *lru, gfp_t flags);
void *kmem_cache_alloc_node(struct kmem_cache *s, gfp_t flags, int node);
int kmem_cache_alloc_bulk(struct kmem_cache *s, gfp_t flags, size_t size, void **p);
void kmem_cache_free(struct kmem_cache *s, void *object);
void kmem_cache_free_bulk(struct kmem_cache *s, size_t size, void **p);
void *__kmalloc(size_t size, gfp_t gfp);
char *kasprintf(gfp_t gfp, const char *format, const char *name);
void *__kmalloc_node(size_t size, gfp_t gfp, int node);
void *__kmalloc_node_track_caller(size_t size, gfp_t gfp, int node, unsigned long caller);
void *kmalloc_large_node(size_t size, gfp_t flags, int node);
size_t kmalloc_size_roundup(size_t size);
void kfree(const void *at);
size_t __ksize(const void *at);
void *krealloc(const void *at, size_t size, gfp_t flags);
int slab_prepare_cpu(unsigned int cpu);
int slab_dead_cpu(unsigned int cpu);
#define kmalloc __kmalloc
#define ksize   __ksize
#define kzalloc(size, gfp) __kmalloc(size, (gfp) | __GFP_ZERO)
#define kfree_bulk(n, p)   kmem_cache_free_bulk(NULL, n, p)

#endif
