/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The members of struct slab between its flags and its count of references (mm/slab.h includes this there). They lie over
 * those of struct page: bit 0 behind the flags tells the tail of a compound page, so a name in a list (next, prev: twice a page's
 * number and two) has it clear. A page's mapping lies at bits[0] and is cleared when a slab goes.
 */
	union {
		struct {
			u32 next, prev;
			struct kmem_cache *slab_cache;
		};
		struct list_head slab_list;
		struct rcu_head rcu_head;
	};
	union {
		u64 bits[3];
		u64 grace[3];
		struct {
			u64 unused;
			void *freelist; /* behind a page's mapping, whose low bits compaction looks at until the page is a slab's */
			void *s_mem; /* KFENCE's, of its own pages */
		};
	};
	/* Over a page's count of mappings, whose upper four bits would say what type of page it is not. */
	u32 active : 13;
	u32 first : 15;
	u32 list : 4;
