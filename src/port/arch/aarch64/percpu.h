/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The restartable sequences on per-CPU arrays, AArch64. What a sequence is, the layout of arrays, owned slots and the operands
 * are those of arch/x86_64/percpu.h; this is what differs.
 *
 * The commit is a store of the whole word. rseq_cs is left as it is after a hit with restartable sequences; an owned slot's is
 * cleared by a store with release, for here stores may be seen out of order: who sees it cleared (dry_percpu_inside())
 * sees the array as the sequence left it. Entering needs no barrier: who stops a heap puts one into every thread
 * (membarrier), before or after the store of rseq_cs, so that it is seen or the stopped area is.
 */
#ifndef DRY_PORT_PERCPU_H
#define DRY_PORT_PERCPU_H

#include "port/arch/rseq_tls.h"
#include "port/word.h"

/* Where this thread's rseq_cs is, and its slot id. */
static inline __attribute__((always_inline)) char *dry_percpu_area(void)
{
	return (char *)__builtin_thread_pointer() + dry_slot_cs + offsetof(struct dry_slot_tls, rseq_cs);
}
static inline __attribute__((always_inline)) char *dry_percpu_id(void)
{
	return (char *)__builtin_thread_pointer() + dry_slot_id;
}

/* BRK with the number that glibc registers, for little- and big-endian data alike: code is little-endian. */
#define DRY_RSEQ_SIGNATURE "0xd428bc00"

_Static_assert(offsetof(struct dry_slot_tls, patience) == 20, "as the sequences have it");

/* clang-format off */
/* As arch/x86_64/percpu.h has it. (What the abort handler goes back to may be too far for a conditional branch.) */
#define DRY_SEQ_ABORTED(a, x, w, give_up)                                    \
	".pushsection .text.dry_rseq_abort, \"ax\"\n"                        \
	".inst " DRY_RSEQ_SIGNATURE "\n"                                     \
	"94: adrp " a ", :gottprel:dry_slot_tls\n"                           \
	"ldr " a ", [" a ", #:gottprel_lo12:dry_slot_tls]\n"                 \
	"mrs " x ", tpidr_el0\n"                                             \
	"add " a ", " a ", " x "\n"                                          \
	"ldr " w ", [" a ", #20]\n"                                          \
	"subs " w ", " w ", #1\n"                                            \
	"str " w ", [" a ", #20]\n"                                          \
	"b.mi 90f\n"                                                         \
	"b 95f\n"                                                            \
	"90: mov " w ", #" DRY_SEQ_PATIENCE "\n"                             \
	"str " w ", [" a ", #20]\n"                                          \
	give_up "\n"                                                         \
	".popsection\n"

/* [table]: base + disp; at the end [a] is the array. */
#define DRY_SEQ_BEGIN(give_up)                                               \
	".pushsection .data.rel.ro.dry_rseq, \"aw\"\n"                       \
	".balign 32\n"                                                       \
	"93: .long 0, 0\n .quad 91f, 92f - 91f, 94f\n"                       \
	".popsection\n"                                                      \
	DRY_SEQ_ABORTED("%[a]", "%[n]", "%w[n]", give_up)                    \
	"95: adrp %[a], 93b\n"                                               \
	"add %[a], %[a], #:lo12:93b\n"                                       \
	"str %[a], [%[cs]]\n"                                                \
	"91: ldr %w[a], [%[id]]\n"                                           \
	"ldr %[a], [%[table], %[a], lsl #3]\n"                               \
	"add %[a], %[a], %[at], lsl #3\n"

#define DRY_SEQ_END                                                          \
	"92: stlr xzr, [%[cs]]\n"

/* After the commit of a hit: the top bit of [word] says that the slot is owned. (Another section may be too far for a tbnz.) */
#define DRY_HIT_END                                                          \
	"tbz %[word], #63, 97f\n"                                            \
	"stlr xzr, [%[cs]]\n"                                                \
	"97:\n"

/* After the commit of a pop; as arch/x86_64/percpu.h has it. Any of the operands may be the link register. */
#define DRY_POP_END                                                          \
	"tbz %[word], #63, 97f\n"                                            \
	"stlr xzr, [%[cs]]\n"                                                \
	"tbnz %[word], #61, 97f\n"                                           \
	"b 96f\n"                                                            \
	"97:\n"                                                              \
	".pushsection .text.dry_due, \"ax\"\n"                               \
	"96: sub sp, sp, #48\n"                                              \
	"stp x30, %[object], [sp]\n"                                         \
	"stp %[table], %[at], [sp, #16]\n"                                   \
	"stp %[cs], %[id], [sp, #32]\n"                                      \
	"bl dry_percpu_put_back\n"                                           \
	"ldr x30, [sp]\n"                                                    \
	"ldr %[object], [sp, #8]\n"                                          \
	"add sp, sp, #48\n"                                                  \
	"cbnz %[object], 98f\n"                                              \
	"b %l[empty]\n"                                                      \
	"98: b 97b\n"                                                        \
	".popsection\n"

/* The copy of [count] words from [from] to [to], both moved on; [n] is lost. */
#define DRY_SEQ_COPY                                                         \
	"mov %[left], %[count]\n"                                            \
	"cbz %[left], 99f\n"                                                 \
	"98: ldr %[n], [%[from]], #8\n"                                      \
	"str %[n], [%[to]], #8\n"                                            \
	"sub %[left], %[left], #1\n"                                         \
	"cbnz %[left], 98b\n"                                                \
	"99:\n"

#define DRY_SEQ_IN                                                           \
	[table] "r"((const char *)base + disp), [at] "r"(at), [cs] "r"(dry_percpu_area()), [id] "r"(dry_percpu_id())
/* clang-format on */

/* What the word of an array starts with. */
static inline uint64_t dry_percpu_empty_word(void)
{
	return dry_slot_owned ? DRY_WORD_OWNED : 0;
}

/* A sequence that ended early is over, too: a fence must not wait for it. */
static inline __attribute__((always_inline)) void dry_percpu_leave(void)
{
	__atomic_store_n((uint64_t *)(void *)dry_percpu_area(), 0, __ATOMIC_RELEASE);
}

/* Take the newest object; NULL if the array is empty or stopped, or its countdown over. */
static inline __attribute__((always_inline)) void *dry_percpu_pop(const void *base, size_t disp, size_t at)
{
	size_t a, n, word;
	void *object;

	__asm__ volatile goto(DRY_SEQ_BEGIN("b %l[empty]") "ldr %[word], [%[a]]\n"
					    "ands %[n], %[word], #0xffff\n"
					    "b.eq %l[empty]\n"
					    "add %[n], %[a], %[n], lsl #3\n"
					    "ldr %[object], [%[n], #8]\n"
					    "mov %[n], #0xffff\n"
					    "add %[word], %[word], %[n]\n"
					    "str %[word], [%[a]]\n"
					    "92:\n" DRY_POP_END
			      : [a] "=&r"(a), [n] "=&r"(n), [word] "=&r"(word), [object] "=&r"(object)
			      : DRY_SEQ_IN
			      : "memory", "cc"
			      : empty);
	if (object == NULL)
		__builtin_unreachable(); /* no NULL was ever pushed: spares the caller's test */
	return object;
empty:
	dry_percpu_leave();
	return NULL;
}

/* Add an object; false if the array is full or stopped, or if it is the newest object already. */
static inline __attribute__((always_inline)) bool dry_percpu_push(const void *base, size_t disp, size_t at, void *object)
{
	size_t a, n, word, newest;

	__asm__ volatile goto(DRY_SEQ_BEGIN("b %l[full]") "ldr %[word], [%[a]]\n"
					    "ldrh %w[n], [%[a], #8]\n"
					    "cmp %w[n], %w[word], uxth\n"
					    "b.ls %l[full]\n"
					    "and %[n], %[word], #0xffff\n"
					    "add %[n], %[a], %[n], lsl #3\n"
					    "ldr %[newest], [%[n], #8]\n"
					    "cmp %[newest], %[object]\n"
					    "b.eq %l[full]\n"
					    "str %[object], [%[n], #16]\n"
					    "add %[word], %[word], #1\n"
					    "str %[word], [%[a]]\n"
					    "92:\n" DRY_HIT_END
			      : [a] "=&r"(a), [n] "=&r"(n), [word] "=&r"(word), [newest] "=&r"(newest)
			      : DRY_SEQ_IN, [object] "r"(object)
			      : "memory", "cc"
			      : full);
	return 1;
full:
	dry_percpu_leave();
	return 0;
}

/* Take the newest min(avail, max) objects, oldest first into objects[]. Their number. Not counted as pops. */
static inline __attribute__((always_inline)) size_t
dry_percpu_pop_batch(const void *base, size_t disp, size_t at, void **objects, size_t max)
{
	size_t a, n, word, count, left;
	void *from, *to;

	__asm__ volatile(DRY_SEQ_BEGIN("mov %[count], #0\n b 92f") "ldr %[word], [%[a]]\n"
				       "and %[n], %[word], #0xffff\n"
				       "cmp %[n], %[max]\n"
				       "csel %[count], %[n], %[max], lo\n"
				       "cbz %[count], 92f\n" /* the stopped area is never written */
				       "sub %[n], %[n], %[count]\n"
				       "add %[from], %[a], %[n], lsl #3\n"
				       "add %[from], %[from], #16\n"
				       "mov %[to], %[objects]\n" DRY_SEQ_COPY
				       "sub %[word], %[word], %[count]\n"
				       "str %[word], [%[a]]\n" DRY_SEQ_END
			 : [a] "=&r"(a), [n] "=&r"(n), [word] "=&r"(word), [count] "=&r"(count), [left] "=&r"(left),
			   [from] "=&r"(from), [to] "=&r"(to)
			 : DRY_SEQ_IN, [objects] "r"(objects), [max] "r"(max)
			 : "memory", "cc");
	return count;
}

/* Add objects[0 .. returned) on top; as many as there is room for. */
static inline __attribute__((always_inline)) size_t
dry_percpu_push_batch(const void *base, size_t disp, size_t at, void *const *objects, size_t max)
{
	size_t a, n, word, count, left;
	const void *from;
	void *to;

	__asm__ volatile(DRY_SEQ_BEGIN("mov %[count], #0\n b 92f") "ldr %[word], [%[a]]\n"
				       "and %[n], %[word], #0xffff\n"
				       "ldrh %w[count], [%[a], #8]\n"
				       "subs %[count], %[count], %[n]\n" /* room, 0 if the limit is below avail */
				       "csel %[count], %[count], xzr, hi\n"
				       "cmp %[count], %[max]\n"
				       "csel %[count], %[count], %[max], lo\n"
				       "cbz %[count], 92f\n"
				       "add %[to], %[a], %[n], lsl #3\n"
				       "add %[to], %[to], #16\n"
				       "mov %[from], %[objects]\n" DRY_SEQ_COPY
				       "add %[word], %[word], %[count]\n"
				       "str %[word], [%[a]]\n" DRY_SEQ_END
			 : [a] "=&r"(a), [n] "=&r"(n), [word] "=&r"(word), [count] "=&r"(count), [left] "=&r"(left),
			   [from] "=&r"(from), [to] "=&r"(to)
			 : DRY_SEQ_IN, [objects] "r"(objects), [max] "r"(max)
			 : "memory", "cc");
	return count;
}

/* As arch/x86_64/percpu.h has them. */
static inline uint64_t dry_percpu_charge(const void *base, size_t disp, size_t at)
{
	size_t a, n;
	uint64_t word;

	__asm__ volatile(DRY_SEQ_BEGIN("mov %[word], #0\n b 92f") "mov %[word], #0\n"
				       "ldrh %w[n], [%[a], #8]\n"
				       "cbz %w[n], 92f\n" /* the stopped area is never written */
				       "ldr %[word], [%[a]]\n"
				       "add %[word], %[word], #16, lsl #12\n"
				       "str %[word], [%[a]]\n" DRY_SEQ_END
			 : [a] "=&r"(a), [n] "=&r"(n), [word] "=&r"(word)
			 : DRY_SEQ_IN
			 : "memory", "cc");
	return word;
}

static inline uint64_t dry_percpu_arm(const void *base, size_t disp, size_t at, uint64_t beginning)
{
	size_t a, n;
	uint64_t word;

	__asm__ volatile(DRY_SEQ_BEGIN("mov %[word], #0\n b 92f") "mov %[word], #0\n"
				       "ldr %[n], [%[a]]\n"
				       "tbz %[n], #63, 92f\n"
				       "tbnz %[n], #61, 92f\n"
				       "mov %[word], %[n]\n"
				       "and %[n], %[n], #0xffff\n"
				       "orr %[n], %[n], %[beginning]\n"
				       "str %[n], [%[a]]\n" DRY_SEQ_END
			 : [a] "=&r"(a), [n] "=&r"(n), [word] "=&r"(word)
			 : DRY_SEQ_IN, [beginning] "r"(beginning)
			 : "memory", "cc");
	return word;
}

/* The slot that the caller runs on; a hint, it may change at once. */
static inline unsigned dry_percpu_slot(void)
{
	return *(volatile uint32_t *)(void *)dry_percpu_id();
}

#endif
