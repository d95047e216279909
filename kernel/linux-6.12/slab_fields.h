/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The members of struct slab between its cache and its page's type (mm/slab.h includes this there). A page's mapping lies at
 * bits[0] and is cleared when a slab goes; `freelist` is for the kernel's own question where it lies, nothing is kept there.
 */
	union {
		struct {
			u32 next, prev;
			u64 bits[2];
			u16 active, first;
			u8 list;
		};
		struct {
			u64 grace[3]; /* of a slab that is on no list and has no objects out */
		};
		struct {
			u64 unused[2];
			void *freelist;
		};
		struct {
			u64 unused_too[2];
			unsigned int objects; /* KFENCE's, of its own pages */
		};
		struct list_head slab_list;
		struct rcu_head rcu_head;
	};
