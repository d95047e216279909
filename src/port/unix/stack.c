/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Stacks, for the linux and the posix port. Keeps errno.
 *
 * From a frame to its caller it goes by the tables for unwinding (unwind.h), and by the frame pointer where there are none. Code
 * may use that register for what it likes, so such a frame is believed only if it lies
 * above the last one on the same stack and its return address in code. Where code is, is read from /proc/self/maps and kept in
 * a table; it is read again when the first return address, which is right in any case, is in none of its
 * ranges. On a system without that file a stack is its first address.
 *
 * The table may be read while it is written: entries are atomic, and a mixed one costs no more than a wrong verdict
 * on a frame.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* ElfW */
#endif
#include "port/stack.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/compiler.h"
#include "port/contract.h"
#include "port/unix/file.h"
#include "port/unix/maps.h"
#include "port/unix/stack_end.h"
#include "port/unix/threads.h"
#include "port/unix/unwind.h"

#define DRY_STACK_READER __attribute__((no_sanitize("address", "undefined", "thread")))

#define RANGES      512
#define STEP_MAX    ((uintptr_t)256 << 10) /* bytes of one frame */
#define READ_AGAIN  50                     /* ms */

struct range {
	_Atomic uintptr_t from, to;
};

static struct range code[RANGES]; /* ascending, no two touch */
static _Atomic unsigned code_count;
static _Atomic uint64_t code_read; /* when, in ms */
static atomic_flag code_busy = ATOMIC_FLAG_INIT;

extern int program_main(int count, char **arguments) __asm__("main") DRY_WEAK;
/* Where the library is linked in from libdrystone.a, its code has a section of its own. */
extern const char own_start[] __asm__("__start_dry_text") DRY_WEAK, own_stop[] __asm__("__stop_dry_text") DRY_WEAK;
/* Else it is that of this module, whose first page is its header. */
extern const ElfW(Ehdr) module_header __asm__("__ehdr_start") DRY_WEAK DRY_HIDDEN;

/* ---- where code is --------------------------------------------------------------------- */

static void add_range(unsigned *count, uintptr_t from, uintptr_t to)
{
	struct range *last = *count > 0 ? &code[*count - 1] : NULL;

	if (last != NULL && atomic_load_explicit(&last->to, memory_order_relaxed) == from) {
		atomic_store_explicit(&last->to, to, memory_order_relaxed);
	} else if (*count < RANGES) {
		atomic_store_explicit(&code[*count].from, from, memory_order_relaxed);
		atomic_store_explicit(&code[*count].to, to, memory_order_relaxed);
		++*count;
	}
}

/* Lines like "7f12-7f34 r-xp ...". */
static void read_maps(struct dry_unix_maps *maps)
{
	unsigned count = 0;
	int c = 0;

	while (c >= 0) {
		uintptr_t from = dry_unix_maps_number(maps, &c), to = c == '-' ? dry_unix_maps_number(maps, &c) : 0;
		bool runs = false;
		for (unsigned i = 0; i < 3 && c >= 0; i++)
			runs = (c = dry_unix_maps_char(maps)) == 'x';
		if (runs && from < to)
			add_range(&count, from, to);
		while (c >= 0 && c != '\n')
			c = dry_unix_maps_char(maps);
	}
	/* release: pairs with the acquire in find() */
	atomic_store_explicit(&code_count, count, memory_order_release);
}

static const struct range *find(uintptr_t address)
{
	unsigned low = 0, high = atomic_load_explicit(&code_count, memory_order_acquire);

	while (low < high) {
		unsigned middle = (low + high) / 2;
		if (atomic_load_explicit(&code[middle].to, memory_order_relaxed) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == RANGES || atomic_load_explicit(&code[low].from, memory_order_relaxed) > address ||
	    atomic_load_explicit(&code[low].to, memory_order_relaxed) <= address)
		return NULL;
	return &code[low];
}

void dry_unix_stack_forked(void)
{
	atomic_flag_clear_explicit(&code_busy, memory_order_relaxed);
}

static DRY_SLOW void read_code(void)
{
	static struct dry_unix_maps maps; /* of whoever is busy: too much for a stack */
	int saved = errno, cancel;

	if (dry_port_confined() || atomic_flag_test_and_set_explicit(&code_busy, memory_order_acquire))
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* malloc() must not become a cancellation point */
	maps = (struct dry_unix_maps){ .fd = dry_file_open("/proc/self/maps") };
	if (maps.fd >= 0) {
		read_maps(&maps);
		dry_file_close(maps.fd);
	}
	pthread_setcancelstate(cancel, NULL);
	atomic_store_explicit(&code_read, dry_port_clock_ms(), memory_order_relaxed);
	atomic_flag_clear_explicit(&code_busy, memory_order_release);
	errno = saved;
}

/* The bytes from `from` on; none: 0. */
struct part {
	uintptr_t from, bytes;
};

static bool lies_in(struct part part, uintptr_t address)
{
	return address - part.from < part.bytes;
}

/* Of this module, a shared library, whose addresses begin at 0. */
static struct part module_code(void)
{
	const ElfW(Phdr) *part = (const void *)((const char *)&module_header + module_header.e_phoff);
	const ElfW(Phdr) *end = part + module_header.e_phnum;

	for (; part < end; part++)
		if (part->p_type == PT_LOAD && part->p_flags & PF_X)
			return (struct part){ (uintptr_t)&module_header + part->p_vaddr, part->p_memsz };
	return (struct part){ 0, 0 };
}

/* The library's own code, where it can be told from the program's. */
static struct part own_code(void)
{
	struct part own = { 0, 0 };

	if (own_start != NULL)
		return (struct part){ (uintptr_t)own_start, (uintptr_t)(own_stop - own_start) };
	if (&module_header != NULL)
		own = module_code();
	return lies_in(own, (uintptr_t)program_main) ? (struct part){ 0, 0 } : own;
}

/* ---- frames ------------------------------------------------------------------------------- */

/* Processors whose frames are chained: at the frame pointer the caller's, and after it the return address. */
#if defined(__x86_64__) || defined(__aarch64__)
enum { CHAINED = 1 };
#else
enum { CHAINED = 0 };
#endif

#ifdef DRY_FRAME_POINTERS
enum { INSIDE = 1 }; /* the library itself is built with them */
#else
enum { INSIDE = 0 };
#endif

/* Whether code is there, after a second look if need be. */
static bool is_code(uintptr_t address)
{
	if (find(address) != NULL)
		return true;
	if (dry_port_clock_ms() - atomic_load_explicit(&code_read, memory_order_relaxed) > READ_AGAIN)
		read_code();
	return find(address) != NULL;
}

/* The caller by the frame pointer, where no table tells: of code made at run time. */
static DRY_STACK_READER bool step_by_pointer(struct dry_unix_frame *frame, struct dry_unix_stack *stack)
{
	const uintptr_t *at = (const uintptr_t *)frame->fp;

	if (frame->fp < frame->sp || frame->fp - frame->sp > STEP_MAX || frame->fp % sizeof(uintptr_t) != 0 ||
	    !dry_unix_stack_reaches(stack, frame->fp + 2 * sizeof(uintptr_t)) || find(at[1]) == NULL)
		return false;
	*frame = (struct dry_unix_frame){ at[1], (uintptr_t)(at + 2), at[0], false };
	return true;
}

/* From the library's own code: cheaper than by table, where it is compiled so that each function that calls has a frame pointer. */
static inline DRY_STACK_READER bool step_inside(struct dry_unix_frame *frame, const struct dry_unix_stack *stack)
{
	const uintptr_t *at = (const uintptr_t *)frame->fp;

	if (frame->fp < frame->sp || frame->fp % sizeof(uintptr_t) != 0 || frame->fp + 2 * sizeof(uintptr_t) > stack->end)
		return false;
	*frame = (struct dry_unix_frame){ at[1], (uintptr_t)(at + 2), at[0], false };
	return true;
}

/* *stack: that of the last frame. A handler may have had another than what it interrupted, and that may have left its own. */
static inline bool step(struct dry_unix_frame *frame, struct dry_unix_stack *stack, struct dry_unix_module *module)
{
	if (frame->exact || (stack->whole && frame->sp >= stack->end))
		dry_unix_stack_of(stack, frame->sp, false);
	switch (dry_unix_unwind(frame, stack, module)) {
	case DRY_UNIX_STEP:
		return true;
	case DRY_UNIX_UNKNOWN:
		return is_code(frame->pc) && step_by_pointer(frame, stack);
	default:
		return false;
	}
}

DRY_NOINLINE DRY_STACK_READER unsigned dry_port_stack(uintptr_t *frames, unsigned max)
{
	const uintptr_t *here = __builtin_frame_address(0);
	struct dry_unix_frame frame = { (uintptr_t)__builtin_return_address(0), (uintptr_t)(here + 2), here[0], false };
	struct dry_unix_module module = { 0 };
	struct part own = own_code();
	struct dry_unix_stack stack;
	unsigned count = 0;
	int saved = errno;
	bool inside = true;

	if (!CHAINED) {
		if (max != 0)
			frames[0] = frame.pc;
		return max != 0;
	}
	dry_unix_stack_of(&stack, frame.sp, true);
	if (atomic_load_explicit(&code_count, memory_order_relaxed) == 0)
		read_code();
	while (count < max) {
		inside = inside && lies_in(own, frame.pc);
		if (INSIDE && inside && step_inside(&frame, &stack))
			continue;
		if (!inside)
			frames[count++] = frame.pc;
		if (!step(&frame, &stack, &module))
			break;
	}
	errno = saved;
	return count;
}
