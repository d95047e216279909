/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Names for what C11 has no word for. The only place above port/ where a
 * compiler is spoken to.
 */
#ifndef DRY_BASE_COMPILER_H
#define DRY_BASE_COMPILER_H

#define DRY_LIKELY(x)   __builtin_expect(!!(x), 1)
#define DRY_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* A fast function: at most 30 lines, no loop, no lock, tail-calls its slow twin. */
#define DRY_FAST static inline __attribute__((always_inline))
/* The slow twin: kept out of line and out of the hot text. */
#define DRY_SLOW __attribute__((__noinline__, cold))

/* It reads what a checker of memory has been told that nobody may read. */
#define DRY_UNCHECKED __attribute__((no_sanitize_address))

/* Neither, but one copy of it is enough. */
#define DRY_NOINLINE __attribute__((__noinline__))
/* Before a return: calls above it are calls, no jumps, so that the hit returns by restoring its registers. */
#define DRY_NO_TAIL_CALL() __asm__ volatile("")
/* A pointer's value as if it came from elsewhere: what is stored behind it is addressed through it. */
#define DRY_OPAQUE_POINTER(pointer) __asm__("" : "+r"(pointer))

/*
 * A local array that is filled as far as it is read, also where a build has all locals zeroed (Linux, hardened programs): 512 bytes
 * in each refill cost more than the refill of few objects.
 */
#if __has_attribute(uninitialized)
#define DRY_FILLED_LATER __attribute__((uninitialized))
#else
#define DRY_FILLED_LATER
#endif

#define DRY_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
/* On a declaration: known to be in this library, so no detour through its offset table. */
#define DRY_HIDDEN            __attribute__((visibility("hidden")))
#define DRY_EXPORT            __attribute__((visibility("default")))
#define DRY_ALIGNED(n)        __attribute__((aligned(n)))

/* Runs when the library is loaded, before those without a number; when the process ends. */
#define DRY_CONSTRUCTOR __attribute__((constructor(101)))
#define DRY_DESTRUCTOR  __attribute__((destructor(101)))
/* Another name for a function of the same file; a symbol that may be missing. */
#define DRY_ALIAS(name) __attribute__((alias(name), visibility("default")))
#define DRY_WEAK        __attribute__((weak))
/* Kept, though nothing refers to it. */
#define DRY_USED        __attribute__((used))
/* Exported; a program that this is linked into may define its own. */
#ifndef DRY_REPLACEABLE
#define DRY_REPLACEABLE __attribute__((weak, visibility("default")))
#endif

/* In a loop that waits for another processor. */
#if defined(__x86_64__) || defined(__i386__)
#define DRY_SPIN_HINT() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define DRY_SPIN_HINT() __asm__ volatile("yield")
#else
#define DRY_SPIN_HINT() ((void)0)
#endif

#define DRY_CONTAINER(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

#endif
