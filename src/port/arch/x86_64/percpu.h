/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The restartable sequences on per-CPU arrays, x86-64.
 *
 * Layout of one array (struct dry_array of core; the asserts stand there):
 *
 *   +0  uint64  word: see port/word.h
 *   +8  uint16  limit
 *   +16 void*   entry[limit]
 *
 * A sequence stores the address of its descriptor in rseq_cs, finds the array
 * of its slot, and ends in ONE instruction that commits (add or sub on word).
 * Until then nothing is visible: pop has only read, push has only written an
 * entry above avail. The kernel restarts a sequence that is preempted,
 * migrated or interrupted by a signal, through the abort address, whose four
 * bytes before it must be the registered signature.
 *
 * rseq_cs is left as it is after a hit: the kernel compares the instruction pointer with what it
 * describes. A store of NULL there made a malloc-free pair 0.6 ns slower (docs/design/fast-path.md).
 *
 * The same code serves threads that own a slot exclusively: then dry_slot_cs and
 * dry_slot_id point into dry_slot_tls, a look-alike of the kernel's area. Nobody
 * restarts it, and nobody needs to. But there rseq_cs says whether its owner is inside
 * of a sequence, which dry_port_slot_fence() relies on, and must be cleared. Arrays of
 * such slots have a flag in their words for this: bit 63, which the commit leaves in the sign flag, so that
 * a hit looks with one branch. The flag may also be set with rseq (after 2^47 pops): it costs a store.
 *
 * Id 0 of dry_slot_tls is never given to a thread, and slots[0] then is the stopped
 * area: a thread without a slot takes the slow path. No sequence may be entered
 * before dry_port_init() has set the offsets; there is no heap before it.
 *
 * Operands: `base` + `disp` (a constant) is the heap's table of slot areas. Its entry is
 * read inside the sequence, because replacing all entries, then fencing, is how a heap is
 * stopped. `at` is the place of the array in its slot, in units of 8 bytes.
 */
#ifndef DRY_PORT_PERCPU_H
#define DRY_PORT_PERCPU_H

#include "port/arch/rseq_tls.h"
#include "port/word.h"

#define DRY_RSEQ_SIGNATURE "0x53053053"

#define DRY_PERCPU_REMEMBERS 1 /* port/here.h */
_Static_assert(offsetof(struct dry_slot_tls, patience) == 20, "as the sequences have it");
_Static_assert(offsetof(struct dry_slot_tls, here) == 24, "as the sequences have it");

/*
 * Where a sequence goes on that the kernel aborted: it begins anew. Each so many aborts of a thread (DRY_SEQ_PATIENCE) it ends as
 * if there were nothing to be had (`give_up`), and the slow way goes on without: a debugger that goes by single instructions
 * aborts every sequence, and would never get through if they always began anew.
 */
#define DRY_SEQ_ABORTED(p, scratch, give_up)                                 \
	".pushsection .text.dry_rseq_abort, \"ax\"\n"                        \
	".byte 0x0f, 0xb9, 0x3d\n .long " DRY_RSEQ_SIGNATURE "\n"            \
	"94: mov dry_slot_tls@gottpoff(" p "rip), " scratch "\n"             \
	"decl " p "fs:20(" scratch ")\n"                                     \
	"jns 95f\n"                                                          \
	"movl $" DRY_SEQ_PATIENCE ", " p "fs:20(" scratch ")\n"              \
	give_up "\n"                                                         \
	".popsection\n"

#define DRY_SEQ_ANNOUNCE(give_up)                                            \
	".pushsection .data.rel.ro.dry_rseq, \"aw\"\n"                       \
	".balign 32\n"                                                       \
	"93: .long 0, 0\n .quad 91f, 92f - 91f, 94f\n"                       \
	".popsection\n"                                                      \
	DRY_SEQ_ABORTED("%%", "%[a]", give_up)                               \
	"95: lea 93b(%%rip), %[a]\n"                                         \
	"mov dry_slot_cs(%%rip), %[t]\n"                                     \
	"mov %[a], %%fs:8(%[t])\n"

#define DRY_SEQ_BEGIN(give_up) DRY_SEQ_ANNOUNCE(give_up)                     \
	"91: mov dry_slot_id(%%rip), %[a]\n"                                 \
	"mov %%fs:(%[a]), %k[a]\n"                                           \
	"mov %c[disp](%[base],%[a],8), %[a]\n"                               \
	"lea (%[a],%[at],8), %[a]\n"

/* The area that the thread remembers, if it is this CPU's. */
#define DRY_SEQ_HERE(elsewhere) DRY_SEQ_ANNOUNCE("jmp " elsewhere)           \
	"91: mov dry_slot_id(%%rip), %[n]\n"                                 \
	"mov %%fs:(%[n]), %k[n]\n"                                           \
	"mov dry_slot_tls@gottpoff(%%rip), %[a]\n"                           \
	"mov %%fs:24(%[a]), %[a]\n"                                          \
	"cmp 16(%[a]), %k[n]\n"                                              \
	"jne " elsewhere "\n"                                                \
	"lea (%[a],%[at],8), %[a]\n"

#define DRY_SEQ_END                                                          \
	"92: movq $0, %%fs:8(%[t])\n"

/* After the commit of a hit. */
#define DRY_HIT_END                                                          \
	"js 96f\n"                                                           \
	"97:\n"                                                              \
	".pushsection .text.dry_rseq_abort, \"ax\"\n"                        \
	"96: movq $0, %%fs:8(%[t])\n jmp 97b\n"                              \
	".popsection\n"

/* After the commit of a pop. What the caller keeps below its stack pointer stays. */
#define DRY_POP_END(table)                                                   \
	"js 96f\n"                                                           \
	"97:\n"                                                              \
	".pushsection .text.dry_rseq_abort, \"ax\"\n"                        \
	"96: movq $0, %%fs:8(%[t])\n"                                        \
	"testb $0x20, 7(%[a])\n"                                             \
	"jnz 97b\n"                                                          \
	"lea -128(%%rsp), %%rsp\n"                                           \
	"push %[at]\n"                                                       \
	table                                                                \
	"push %[a]\n"                                                        \
	"call dry_percpu_put_back\n"                                         \
	"lea 144(%%rsp), %%rsp\n"                                            \
	"test %[object], %[object]\n"                                        \
	"jz %l[empty]\n"                                                     \
	"jmp 97b\n"                                                          \
	".popsection\n"

#define DRY_POP                                                              \
	"mov (%[a]), %[n]\n"                                                 \
	"and $0xffff, %k[n]\n"                                               \
	"jz %l[empty]\n"                                                     \
	"mov 8(%[a],%[n],8), %[object]\n"                                    \
	"mov (%[a],%[n],8), %[n]\n"                                          \
	"addq $0xffff, (%[a])\n"                                             \
	"92:\n"

#define DRY_PUSH                                                             \
	"mov (%[a]), %[n]\n"                                                 \
	"movzwl %w[n], %k[n]\n"                                              \
	"cmp 8(%[a]), %w[n]\n"                                               \
	"jae %l[full]\n"                                                     \
	"cmp %[object], 8(%[a],%[n],8)\n"                                    \
	"je %l[full]\n"                                                      \
	"mov %[object], 16(%[a],%[n],8)\n"                                   \
	"incq (%[a])\n"                                                      \
	"92:\n"
/* clang-format on */

/* What the word of an array starts with. */
static inline uint64_t dry_percpu_empty_word(void)
{
	return dry_slot_owned ? DRY_WORD_OWNED : 0;
}

/* A sequence that ended early is over, too: a fence must not wait for it. */
static inline __attribute__((always_inline)) void dry_percpu_leave(void)
{
	__asm__ volatile("movq $0, %%fs:8(%0)" : : "r"(dry_slot_cs) : "memory");
}

/*
 * Take the newest object; NULL if the array is empty or stopped, or its countdown over. The word is read as wide as
 * it is written: a narrower load is forwarded from the store buffer some cycles later. The object below it, which comes next,
 * is fetched into the cache meanwhile, to be written: a free object is not touched, so it is often as cold as when it was freed.
 * Below the last one is no address at all (dry_array_seen()), for one where nothing is mapped would be looked up each time.
 */
static inline __attribute__((always_inline)) void *dry_percpu_pop(const void *base, size_t disp, size_t at)
{
	size_t a, n, t;
	void *object;

	__asm__ volatile goto(DRY_SEQ_BEGIN("jmp %l[empty]") DRY_POP DRY_POP_END("lea %c[disp](%[base]), %[a]\n")
			      : [a] "=&r"(a), [n] "=&r"(n), [t] "=&r"(t), [object] "=&a"(object)
			      : [base] "r"(base), [disp] "i"(disp), [at] "r"(at)
			      : "memory", "cc"
			      : empty);
	__asm__ volatile("prefetchw (%0)" : : "r"(n)); /* a hint, since processors of 1998; never a fault */
	if (object == NULL)
		__builtin_unreachable(); /* no NULL was ever pushed: spares the caller's test */
	return object;
empty:
	dry_percpu_leave();
	return NULL;
}

static inline __attribute__((always_inline)) void *dry_percpu_pop_here(const void *base, size_t disp, size_t at)
{
	size_t a, n, t;
	void *object;

	__asm__ volatile goto(DRY_SEQ_HERE("%l[empty]") DRY_POP DRY_POP_END("lea %[table], %[a]\n")
			      : [a] "=&r"(a), [n] "=&r"(n), [t] "=&r"(t), [object] "=&a"(object)
			      : [table] "m"(*((const char *)base + disp)), [at] "r"(at)
			      : "memory", "cc"
			      : empty);
	__asm__ volatile("prefetchw (%0)" : : "r"(n));
	if (object == NULL)
		__builtin_unreachable();
	return object;
empty:
	dry_percpu_leave();
	return NULL;
}

/*
 * Add an object; false if the array is full or stopped, or (below the newest of an empty one is its limit, which is no
 * address of an object but by chance) if it is the newest object already: freed twice in a row.
 */
static inline __attribute__((always_inline)) bool dry_percpu_push(const void *base, size_t disp,
								  size_t at, void *object)
{
	size_t a, n, t;

	__asm__ volatile goto(DRY_SEQ_BEGIN("jmp %l[full]") DRY_PUSH DRY_HIT_END
			      : [a] "=&r"(a), [n] "=&r"(n), [t] "=&r"(t)
			      : [base] "r"(base), [disp] "i"(disp), [at] "r"(at), [object] "r"(object)
			      : "memory", "cc"
			      : full);
	return 1;
full:
	dry_percpu_leave();
	return 0;
}

static inline __attribute__((always_inline)) bool dry_percpu_push_here(const void *base, size_t disp,
								       size_t at, void *object)
{
	size_t a, n, t;

	(void)base, (void)disp;
	__asm__ volatile goto(DRY_SEQ_HERE("%l[full]") DRY_PUSH DRY_HIT_END
			      : [a] "=&r"(a), [n] "=&r"(n), [t] "=&r"(t)
			      : [at] "r"(at), [object] "r"(object)
			      : "memory", "cc"
			      : full);
	return 1;
full:
	dry_percpu_leave();
	return 0;
}

static inline void dry_percpu_remember(const char *area)
{
	dry_slot_tls.here = area;
}

/* Whether the thread has neither remembered one yet nor forgotten it. */
static inline bool dry_percpu_is_new(void)
{
	return dry_slot_tls.here == (const char *)dry_nowhere;
}

static inline void dry_percpu_forget(void)
{
	dry_slot_tls.here = (const char *)(dry_nowhere + DRY_NOWHERE_WORDS);
}

/*
 * Copy %rcx objects to `to`, four at a time. A string instruction takes longer to begin than most batches take, and what it
 * has just written is slow to be loaded again.
 */
/* clang-format off */
#define DRY_COPY                                                             \
	"lea (%[from],%%rcx,8), %[from]\n"                                   \
	"lea (%[to],%%rcx,8), %[to]\n"                                       \
	"neg %%rcx\n"                                                        \
	"jz 98f\n"                                                           \
	"test $1, %%cl\n"                                                    \
	"jz 96f\n"                                                           \
	"mov (%[from],%%rcx,8), %[n]\n"                                      \
	"mov %[n], (%[to],%%rcx,8)\n"                                        \
	"inc %%rcx\n"                                                        \
	"jz 98f\n"                                                           \
	"96: test $2, %%cl\n"                                                \
	"jz 97f\n"                                                           \
	"movdqu (%[from],%%rcx,8), %%xmm0\n"                                 \
	"movdqu %%xmm0, (%[to],%%rcx,8)\n"                                   \
	"add $2, %%rcx\n"                                                    \
	"jz 98f\n"                                                           \
	"97: movdqu (%[from],%%rcx,8), %%xmm0\n"                             \
	"movdqu 16(%[from],%%rcx,8), %%xmm1\n"                               \
	"movdqu %%xmm0, (%[to],%%rcx,8)\n"                                   \
	"movdqu %%xmm1, 16(%[to],%%rcx,8)\n"                                 \
	"add $4, %%rcx\n"                                                    \
	"jnz 97b\n"                                                          \
	"98:\n"
/* clang-format on */

/*
 * Take the newest min(avail, max) objects, oldest first into objects[]. Their
 * number. Not counted as pops.
 */
static inline __attribute__((always_inline)) size_t
dry_percpu_pop_batch(const void *base, size_t disp, size_t at, void **objects, size_t max)
{
	size_t a, n, t, count;
	void *from, *to;

	__asm__ volatile(DRY_SEQ_BEGIN("xor %k[count], %k[count]\n jmp 92f") "movzwl (%[a]), %k[n]\n"
				       "cmp %[max], %[n]\n"
				       "mov %[n], %%rcx\n"
				       "cmova %[max], %%rcx\n"
				       "mov %%rcx, %[count]\n"
				       "sub %%rcx, %[n]\n"
				       "lea 16(%[a],%[n],8), %[from]\n"
				       "mov %[objects], %[to]\n" DRY_COPY
				       "test %[count], %[count]\n"
				       "jz 92f\n" /* the stopped area is never written */
				       "sub %[count], (%[a])\n" DRY_SEQ_END
			 : [a] "=&r"(a), [n] "=&r"(n), [t] "=&r"(t), [count] "=&r"(count), [from] "=&r"(from), [to] "=&r"(to)
			 : [base] "r"(base), [disp] "i"(disp), [at] "r"(at), [objects] "r"(objects), [max] "r"(max)
			 : "memory", "cc", "rcx", "xmm0", "xmm1");
	return count;
}

/* Add objects[0 .. returned) on top; as many as there is room for. */
static inline __attribute__((always_inline)) size_t
dry_percpu_push_batch(const void *base, size_t disp, size_t at, void *const *objects, size_t max)
{
	size_t a, n, t, count;
	const void *from;
	void *to;

	__asm__ volatile(DRY_SEQ_BEGIN("xor %k[count], %k[count]\n jmp 92f") "movzwl (%[a]), %k[n]\n"
				       "movzwl 8(%[a]), %%ecx\n"
				       "sub %[n], %%rcx\n" /* room, 0 if the limit is below avail */
				       "mov $0, %k[count]\n"
				       "cmovb %[count], %%rcx\n"
				       "cmp %[max], %%rcx\n"
				       "cmova %[max], %%rcx\n"
				       "mov %%rcx, %[count]\n"
				       "mov %[objects], %[from]\n"
				       "lea 16(%[a],%[n],8), %[to]\n" DRY_COPY
				       "test %[count], %[count]\n"
				       "jz 92f\n" /* the stopped area is never written */
				       "add %[count], (%[a])\n" DRY_SEQ_END
			 : [a] "=&r"(a), [n] "=&r"(n), [t] "=&r"(t), [count] "=&r"(count), [from] "=&r"(from), [to] "=&r"(to)
			 : [base] "r"(base), [disp] "i"(disp), [at] "r"(at), [objects] "r"(objects), [max] "r"(max)
			 : "memory", "cc", "rcx", "xmm0", "xmm1");
	return count;
}

/* One pop more is counted, of an object that came from elsewhere. The word afterwards; 0: there is no array. */
static inline uint64_t dry_percpu_charge(const void *base, size_t disp, size_t at)
{
	size_t a, t;
	uint64_t word;

	__asm__ volatile(DRY_SEQ_BEGIN("xor %k[word], %k[word]\n jmp 92f") "xor %k[word], %k[word]\n"
				       "cmpw $0, 8(%[a])\n"
				       "je 92f\n" /* the stopped area is never written */
				       "mov (%[a]), %[word]\n"
				       "add $0x10000, %[word]\n"
				       "mov %[word], (%[a])\n" DRY_SEQ_END
			 : [a] "=&r"(a), [t] "=&r"(t), [word] "=&r"(word)
			 : [base] "r"(base), [disp] "i"(disp), [at] "r"(at)
			 : "memory", "cc");
	return word;
}

/* Of an array whose countdown is over the word gets another beginning, all but avail. The word before; 0: it is not over. */
static inline uint64_t dry_percpu_arm(const void *base, size_t disp, size_t at, uint64_t beginning)
{
	size_t a, n, t;
	uint64_t word;

	__asm__ volatile(DRY_SEQ_BEGIN("xor %k[word], %k[word]\n jmp 92f") "xor %k[word], %k[word]\n"
				       "mov (%[a]), %[n]\n"
				       "test %[n], %[n]\n"
				       "jns 92f\n"
				       "bt $61, %[n]\n"
				       "jc 92f\n"
				       "mov %[n], %[word]\n"
				       "movzwl %w[n], %k[n]\n"
				       "or %[beginning], %[n]\n"
				       "mov %[n], (%[a])\n" DRY_SEQ_END
			 : [a] "=&r"(a), [n] "=&r"(n), [t] "=&r"(t), [word] "=&r"(word)
			 : [base] "r"(base), [disp] "i"(disp), [at] "r"(at), [beginning] "r"(beginning)
			 : "memory", "cc");
	return word;
}

/* The slot that the caller runs on; a hint, it may change at once. */
static inline unsigned dry_percpu_slot(void)
{
	uint32_t id;

	__asm__ volatile("mov %%fs:(%1), %0" : "=r"(id) : "r"(dry_slot_id));
	return id;
}

#endif
