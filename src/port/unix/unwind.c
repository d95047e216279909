/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "port/unix/unwind.h"

#include "base/compiler.h"
#include "port/unix/stack_end.h"
#include "port/unix/unwind_module.h"

#if defined(__x86_64__) && defined(__LP64__)

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

/* Numbers of registers in tables: System V ABI, AMD64 supplement, figure 3.36. */
enum { FP = 6, SP = 7, PC = 16 };

#define ROWS   2048u /* of the cache */
#define STATES 8     /* that a table may remember */
#define STACK  8     /* of an expression */
#define WORD   ((int64_t)sizeof(uintptr_t))
#define DEEP   __attribute__((no_sanitize("address", "undefined", "thread"))) /* reads others' frames */

/* ---- tables --------------------------------------------------------------------------------- */

static uint64_t fixed(const uint8_t **at, unsigned bytes)
{
	uint64_t value = 0;

	memcpy(&value, *at, bytes);
	*at += bytes;
	return value;
}

static uint64_t uleb(const uint8_t **at)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = *(*at)++;
		value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
		shift += 7;
	} while (byte & 0x80);
	return value;
}

static int64_t sleb(const uint8_t **at)
{
	const uint8_t *from = *at;
	uint64_t value = uleb(at);
	unsigned bits = 7 * (unsigned)(*at - from);

	return (int64_t)(bits < 64 && (*at)[-1] & 0x40 ? value | ~UINT64_C(0) << bits : value);
}

/* A pointer, in the formats that have a size and relative to nothing or to itself. */
static bool encoded(const uint8_t **at, uint8_t encoding, uint64_t *value)
{
	static const uint8_t sizes[16] = { [0] = 8, [2] = 2, [3] = 4, [4] = 8, [10] = 2, [11] = 4, [12] = 8 };
	unsigned size = sizes[encoding & 15];
	uintptr_t place = (uintptr_t)*at;

	if (size == 0 || (encoding & 0xe0) != 0 || ((encoding & 0x70) != 0 && (encoding & 0x70) != 0x10))
		return false;
	*value = fixed(at, size);
	if (encoding & 8 && size < 8 && *value >> (size * 8 - 1))
		*value |= ~UINT64_C(0) << (size * 8);
	if (encoding & 0x70)
		*value += place;
	return true;
}

/* What the table has for a function: the common entry's part and its own. */
struct entry {
	const uint8_t *common, *common_end, *own, *own_end;
	uint64_t start, code_unit;
	int64_t data_unit;
	bool interrupts; /* a frame that the kernel made for a handler */
};

static bool skip_personality(const uint8_t **at)
{
	uint8_t encoding = *(*at)++ & 0x7f; /* without what says that it is a pointer to it */
	uint64_t skipped;

	return encoded(at, encoding, &skipped);
}

static bool read_common(struct entry *entry, const uint8_t *at, uint8_t *encoding, bool *augmented)
{
	uint32_t length = (uint32_t)fixed(&at, 4);
	const uint8_t *end = at + length;
	const char *letters;

	if (length >= 0xfffffff0u || fixed(&at, 4) != 0 || (*at != 1 && *at != 3))
		return false;
	letters = (const char *)at + 1;
	at += 1 + strlen(letters) + 1;
	entry->code_unit = uleb(&at);
	entry->data_unit = sleb(&at);
	if (uleb(&at) != PC)
		return false;
	*encoding = 0;
	*augmented = *letters == 'z';
	if (*augmented) {
		uint64_t bytes = uleb(&at);
		const uint8_t *next = at + bytes;
		for (letters++; *letters != '\0'; letters++) {
			if (*letters == 'R')
				*encoding = *at++;
			else if (*letters == 'L')
				at++;
			else if (*letters == 'S')
				entry->interrupts = true;
			else if (*letters != 'P' || !skip_personality(&at))
				return false;
		}
		at = next;
	} else if (*letters != '\0') {
		return false;
	}
	entry->common = at;
	entry->common_end = end;
	return true;
}

static bool read_entry(struct entry *entry, const uint8_t *at, uint64_t pc)
{
	uint32_t length = (uint32_t)fixed(&at, 4);
	const uint8_t *end = at + length, *place = at;
	uint32_t back = (uint32_t)fixed(&at, 4);
	uint64_t range;
	uint8_t encoding;
	bool augmented;

	*entry = (struct entry){ .own_end = end };
	if (length == 0 || length >= 0xfffffff0u || back == 0 || !read_common(entry, place - back, &encoding, &augmented) ||
	    !encoded(&at, encoding, &entry->start) || !encoded(&at, encoding & 0x0f, &range) || pc - entry->start >= range)
		return false;
	if (augmented) {
		uint64_t bytes = uleb(&at);
		at += bytes;
	}
	entry->own = at;
	return true;
}

/* The table: version 1, pointers of 4 bytes, then pairs relative to itself in ascending order. */
static bool find_entry(const uint8_t *table, uint64_t pc, struct entry *entry)
{
	static const uint8_t head[4] = { 1, 0x1b, 0x03, 0x3b };
	const uint8_t *at = table + 8;
	int32_t pair[2];

	if (memcmp(table, head, sizeof(head)) != 0)
		return false;
	size_t low = 0, high = (size_t)fixed(&at, 4);
	while (low < high) {
		size_t middle = (low + high) / 2;
		memcpy(pair, at + middle * sizeof(pair), sizeof(pair));
		if ((uintptr_t)table + (uintptr_t)(intptr_t)pair[0] <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return false;
	memcpy(pair, at + (low - 1) * sizeof(pair), sizeof(pair));
	return read_entry(entry, table + pair[1], pc);
}

/* Without a table: one after the other. Rows are kept afterwards. */
static bool search_entry(const uint8_t *at, const uint8_t *stop, uint64_t pc, struct entry *entry)
{
	while (stop - at > 8) {
		const uint8_t *next = at;
		uint32_t length = (uint32_t)fixed(&next, 4);

		if (length == 0 || length > (size_t)(stop - next))
			return false;
		if (read_entry(entry, at, pc))
			return true;
		at = next + length;
	}
	return false;
}

/* ---- rules ----------------------------------------------------------------------------------- */

enum how { SAME, UNDEFINED, AT_OFFSET, IS_OFFSET, BY_REGISTER, AT_EXPRESSION, IS_EXPRESSION, OTHER };

/* Many of them are on the stack at once (docs/design/stack.md). */
struct rule {
	uint8_t how;     /* enum how */
	uint32_t number; /* of a register */
	union {
		int64_t offset;
		const uint8_t *expression;
	};
};

struct row {
	struct rule cfa, fp, pc;
};

/* No register has such a number. */
static uint32_t narrow(uint64_t number)
{
	return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

static struct rule at_offset(enum how how, uint64_t number, int64_t offset)
{
	return (struct rule){ .how = (uint8_t)how, .number = narrow(number), .offset = offset };
}

static void set(struct row *row, uint64_t number, struct rule rule)
{
	if (number == FP)
		row->fp = rule;
	else if (number == PC)
		row->pc = rule;
}

static void restore(struct row *row, uint64_t number, const struct row *first)
{
	set(row, number, number == FP ? first->fp : first->pc);
}

static const uint8_t *skip_block(const uint8_t **at)
{
	const uint8_t *block = *at;
	uint64_t bytes = uleb(at);

	*at += bytes;
	return block;
}

/* Those that change a rule. false: not known. */
static bool change(const struct entry *entry, struct row *row, uint8_t op, const uint8_t **at, const struct row *first)
{
	uint64_t number;

	switch (op) {
	case 0x0c: /* DW_CFA_def_cfa, def_cfa_sf */
	case 0x12:
		number = uleb(at);
		row->cfa = at_offset(BY_REGISTER, number, op == 0x0c ? (int64_t)uleb(at) : sleb(at) * entry->data_unit);
		return true;
	case 0x0d: /* def_cfa_register */
		row->cfa.number = narrow(uleb(at));
		return row->cfa.how == BY_REGISTER;
	case 0x0e: /* def_cfa_offset, def_cfa_offset_sf */
		row->cfa.offset = (int64_t)uleb(at);
		return row->cfa.how == BY_REGISTER;
	case 0x13:
		row->cfa.offset = sleb(at) * entry->data_unit;
		return row->cfa.how == BY_REGISTER;
	case 0x0f: /* def_cfa_expression */
		row->cfa = (struct rule){ .how = IS_EXPRESSION, .expression = skip_block(at) };
		return true;
	}
	number = uleb(at);
	switch (op) {
	case 0x05: /* offset_extended, val_offset, offset_extended_sf, val_offset_sf, GNU_negative_offset_extended */
	case 0x14:
		set(row, number, at_offset(op == 5 ? AT_OFFSET : IS_OFFSET, 0, (int64_t)uleb(at) * entry->data_unit));
		return true;
	case 0x11:
	case 0x15:
		set(row, number, at_offset(op == 0x11 ? AT_OFFSET : IS_OFFSET, 0, sleb(at) * entry->data_unit));
		return true;
	case 0x2f:
		set(row, number, at_offset(AT_OFFSET, 0, -(int64_t)uleb(at) * entry->data_unit));
		return true;
	case 0x06: /* restore_extended */
		restore(row, number, first);
		return true;
	case 0x07: /* undefined, same_value, register */
	case 0x08:
		set(row, number, (struct rule){ .how = op == 7 ? UNDEFINED : SAME });
		return true;
	case 0x09:
		set(row, number, (struct rule){ .how = OTHER, .number = narrow(uleb(at)) });
		return true;
	case 0x10: /* expression, val_expression */
	case 0x16:
		set(row, number, (struct rule){ .how = op == 0x10 ? AT_EXPRESSION : IS_EXPRESSION, .expression = skip_block(at) });
		return true;
	}
	return op == 0x2e; /* GNU_args_size */
}

/* Run the instructions up to the row for pc. */
static bool run(const struct entry *entry, const uint8_t *at, const uint8_t *end, uint64_t pc, struct row *row,
		const struct row *first)
{
	struct row kept[STATES];
	uint64_t place = entry->start, add;
	unsigned count = 0;

	while (at < end) {
		uint8_t op = *at++, low = op & 0x3f;
		if (op >> 6 == 1 || (op >= 0x02 && op <= 0x04)) { /* DW_CFA_advance_loc */
			add = op >> 6 == 1 ? low : fixed(&at, 1u << (op - 2));
			place += add * entry->code_unit;
			if (place > pc)
				return true;
		} else if (op >> 6 == 2) { /* offset */
			set(row, low, at_offset(AT_OFFSET, 0, (int64_t)uleb(&at) * entry->data_unit));
		} else if (op >> 6 == 3) { /* restore */
			restore(row, low, first);
		} else if (op == 0x0a && count < STATES) { /* remember_state */
			kept[count++] = *row;
		} else if (op == 0x0b && count > 0) { /* restore_state */
			*row = kept[--count];
		} else if (op != 0 && (op == 0x0a || op == 0x0b || !change(entry, row, op, &at, first))) {
			return false;
		}
	}
	return true;
}

/* ---- values ---------------------------------------------------------------------------------- */

static DEEP bool word_at(const struct dry_unix_frame *frame, struct dry_unix_stack *stack, uint64_t address, uint64_t *value)
{
	if (address < frame->sp || address % sizeof(uintptr_t) != 0 || address > UINTPTR_MAX - sizeof(uintptr_t) ||
	    !dry_unix_stack_reaches(stack, address + sizeof(uintptr_t)))
		return false;
	*value = *(const uintptr_t *)address;
	return true;
}

static bool register_of(const struct dry_unix_frame *frame, uint64_t number, uint64_t *value)
{
	*value = number == FP ? frame->fp : number == SP ? frame->sp : frame->pc;
	return number == FP || number == SP || number == PC;
}

static bool of_two(uint8_t op, uint64_t *x, uint64_t y)
{
	switch (op) {
	case 0x1a: /* DW_OP_and, minus, or, plus, shl, ge */
		*x &= y;
		return true;
	case 0x1c:
		*x -= y;
		return true;
	case 0x21:
		*x |= y;
		return true;
	case 0x22:
		*x += y;
		return true;
	case 0x24:
		*x = y < 64 ? *x << y : 0;
		return true;
	case 0x2a:
		*x = (int64_t)*x >= (int64_t)y;
		return true;
	}
	return false;
}

/* What compilers and libc put into tables: registers, small numbers, sums, and what memory has. */
static bool evaluate(const struct dry_unix_frame *frame, struct dry_unix_stack *stack, const uint8_t *at, const uint64_t *cfa,
		     uint64_t *value)
{
	uint64_t bytes = uleb(&at), values[STACK];
	const uint8_t *stop = at + bytes;
	unsigned n = 0;

	if (cfa != NULL)
		values[n++] = *cfa;
	while (at < stop) {
		uint8_t op = *at++;
		if (op >= 0x70 && op <= 0x8f && n < STACK) { /* breg */
			if (!register_of(frame, op - 0x70u, &values[n]))
				return false;
			values[n++] += (uint64_t)sleb(&at);
		} else if (op >= 0x30 && op <= 0x4f && n < STACK) { /* lit */
			values[n++] = op - 0x30u;
		} else if (op == 0x08 && n < STACK) { /* const1u */
			values[n++] = *at++;
		} else if (op == 0x06 && n > 0) { /* deref */
			if (!word_at(frame, stack, values[n - 1], &values[n - 1]))
				return false;
		} else if (op == 0x23 && n > 0) { /* plus_uconst */
			values[n - 1] += uleb(&at);
		} else if (n < 2 || !of_two(op, &values[n - 2], values[n - 1])) {
			return false;
		} else {
			n--;
		}
	}
	*value = n > 0 ? values[n - 1] : 0;
	return n > 0;
}

static bool apply(const struct dry_unix_frame *frame, struct dry_unix_stack *stack, const struct rule *rule, uint64_t cfa,
		  uint64_t *value)
{
	switch (rule->how) {
	case SAME:
		return true;
	case AT_OFFSET:
		return word_at(frame, stack, cfa + (uint64_t)rule->offset, value);
	case IS_OFFSET:
		*value = cfa + (uint64_t)rule->offset;
		return true;
	case AT_EXPRESSION:
		return evaluate(frame, stack, rule->expression, &cfa, value) && word_at(frame, stack, *value, value);
	case IS_EXPRESSION:
		return evaluate(frame, stack, rule->expression, &cfa, value);
	default:
		return false;
	}
}

static enum dry_unix_step by_row(struct dry_unix_frame *frame, struct dry_unix_stack *stack, const struct row *row,
				 bool interrupts)
{
	uint64_t cfa, pc = 0, fp = frame->fp;

	if (row->pc.how == UNDEFINED)
		return DRY_UNIX_OUTERMOST;
	if (row->cfa.how == IS_EXPRESSION ? !evaluate(frame, stack, row->cfa.expression, NULL, &cfa) :
					    !register_of(frame, row->cfa.number, &cfa))
		return DRY_UNIX_UNKNOWN;
	if (row->cfa.how == BY_REGISTER)
		cfa += (uint64_t)row->cfa.offset;
	/* Of a function that the kernel interrupted, the stack may be another one. */
	if ((!interrupts && cfa <= frame->sp) || !apply(frame, stack, &row->pc, cfa, &pc) ||
	    (row->fp.how != UNDEFINED && !apply(frame, stack, &row->fp, cfa, &fp)))
		return DRY_UNIX_UNKNOWN;
	if (pc == 0)
		return DRY_UNIX_OUTERMOST;
	*frame = (struct dry_unix_frame){ pc, cfa, fp, interrupts };
	return DRY_UNIX_STEP;
}

/* ---- cache ----------------------------------------------------------------------------------- */

/*
 * What nearly all rows are, in a word:  63..48 where fp is saved | 47..32 where pc is | 31..8 CFA | 1 from fp | 0 set
 * In words, pc and fp from the CFA; fp 0: it is the caller's. pc 0: there is no caller.
 */
static _Atomic uint64_t cached[ROWS][2]; /* key ^ rule, rule */

static uint64_t key_of(const struct dry_unix_module *module, uint64_t pc)
{
	return pc ^ (uint64_t)(uintptr_t)module->table << 16;
}

static _Atomic uint64_t *place_of(uint64_t pc)
{
	return cached[(pc * 0x9e3779b97f4a7c15u) >> 32 & (ROWS - 1)];
}

static bool is_short(int64_t offset, unsigned bits)
{
	return offset % WORD == 0 && offset / WORD < INT64_C(1) << (bits - 1) && offset / WORD >= -(INT64_C(1) << (bits - 1));
}

/* 0: it does not fit. */
static uint64_t rule_of(const struct row *row)
{
	bool saved = row->fp.how == AT_OFFSET && row->fp.offset != 0;

	if (row->pc.how == UNDEFINED)
		return 1;
	if (row->cfa.how != BY_REGISTER || (row->cfa.number != SP && row->cfa.number != FP) || row->pc.how != AT_OFFSET ||
	    row->pc.offset == 0 || (row->fp.how != SAME && !saved) || !is_short(row->cfa.offset, 24) ||
	    !is_short(row->pc.offset, 16) || !is_short(row->fp.offset, 16))
		return 0;
	return (uint64_t)(row->fp.offset / WORD) << 48 | (uint64_t)(row->pc.offset / WORD & 0xffff) << 32 |
	       (uint64_t)(row->cfa.offset / WORD & 0xffffff) << 8 | (row->cfa.number == FP) << 1 | 1;
}

static void keep(const struct dry_unix_module *module, uint64_t pc, const struct row *row)
{
	_Atomic uint64_t *place = place_of(pc);
	uint64_t rule = rule_of(row);

	if (rule == 0)
		return;
	/* relaxed: the key tells what belongs together */
	atomic_store_explicit(&place[1], rule, memory_order_relaxed);
	atomic_store_explicit(&place[0], key_of(module, pc) ^ rule, memory_order_relaxed);
}

static DEEP enum dry_unix_step by_cache(struct dry_unix_frame *frame, struct dry_unix_stack *stack,
					const struct dry_unix_module *module, uint64_t pc)
{
	const _Atomic uint64_t *place = place_of(pc);
	uint64_t rule = atomic_load_explicit(&place[1], memory_order_relaxed);

	if ((rule & 1) == 0 || (atomic_load_explicit(&place[0], memory_order_relaxed) ^ rule) != key_of(module, pc))
		return DRY_UNIX_UNKNOWN;
	int64_t fp_at = (int64_t)rule >> 48, pc_at = (int64_t)(rule << 16) >> 48;
	if (pc_at == 0)
		return DRY_UNIX_OUTERMOST;
	uintptr_t cfa = (rule & 2 ? frame->fp : frame->sp) + (uintptr_t)(((int64_t)(rule << 32) >> 40) * WORD);
	uintptr_t lowest = cfa + (uintptr_t)((fp_at < pc_at ? fp_at : pc_at) * WORD);
	/* Both are below the CFA. */
	if (cfa <= frame->sp || lowest < frame->sp || lowest >= cfa || cfa % sizeof(uintptr_t) != 0 ||
	    !dry_unix_stack_reaches(stack, cfa))
		return DRY_UNIX_UNKNOWN;
	const uintptr_t *words = (const uintptr_t *)cfa;
	if (words[pc_at] == 0)
		return DRY_UNIX_OUTERMOST;
	*frame = (struct dry_unix_frame){ words[pc_at], cfa, fp_at != 0 ? words[fp_at] : frame->fp, false };
	return DRY_UNIX_STEP;
}

static DRY_NOINLINE enum dry_unix_step by_table(struct dry_unix_frame *frame, struct dry_unix_stack *stack,
						const struct dry_unix_module *module, uint64_t pc)
{
	struct row first = { .cfa.how = OTHER }, row;
	struct entry entry;

	bool found = module->end == NULL ? find_entry(module->table, pc, &entry) :
					   search_entry(module->table, module->end, pc, &entry);
	if (!found || !run(&entry, entry.common, entry.common_end, UINT64_MAX, &first, &first))
		return DRY_UNIX_UNKNOWN;
	row = first;
	if (!run(&entry, entry.own, entry.own_end, pc, &row, &first))
		return DRY_UNIX_UNKNOWN;
	if (!entry.interrupts)
		keep(module, pc, &row);
	return by_row(frame, stack, &row, entry.interrupts);
}

/*
 * What handlers of signals return to: `mov $15, %rax; syscall`. musl has no table for it, so it is known by its code, as
 * debuggers do. The kernel has put struct ucontext where the stack pointer is then, and the registers into it (asm/sigcontext.h:
 * r8 to r15, di, si, bp, bx, dx, ax, cx, sp, ip).
 */
static DEEP enum dry_unix_step by_signal(struct dry_unix_frame *frame, struct dry_unix_stack *stack,
					 const struct dry_unix_module *module)
{
	enum { REGISTERS = 40, SAVED_FP = REGISTERS + 10 * 8, SAVED_SP = REGISTERS + 15 * 8, SAVED_PC = REGISTERS + 16 * 8 };
	static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 };
	uint64_t fp, sp, pc;

	if (frame->exact || frame->pc + sizeof(code) > module->to || memcmp((const void *)frame->pc, code, sizeof(code)) != 0 ||
	    !word_at(frame, stack, frame->sp + SAVED_FP, &fp) || !word_at(frame, stack, frame->sp + SAVED_SP, &sp) ||
	    !word_at(frame, stack, frame->sp + SAVED_PC, &pc))
		return DRY_UNIX_UNKNOWN;
	*frame = (struct dry_unix_frame){ pc, sp, fp, true };
	return DRY_UNIX_STEP;
}

enum dry_unix_step dry_unix_unwind(struct dry_unix_frame *frame, struct dry_unix_stack *stack, struct dry_unix_module *module)
{
	uint64_t pc = frame->exact ? frame->pc : frame->pc - 1;
	enum dry_unix_step step;

	if ((pc < module->from || pc >= module->to) && !dry_unix_module_find(pc, module)) {
		*module = (struct dry_unix_module){ 0 };
		return DRY_UNIX_UNKNOWN;
	}
	step = by_cache(frame, stack, module, pc);
	if (DRY_UNLIKELY(step == DRY_UNIX_UNKNOWN))
		step = by_table(frame, stack, module, pc);
	return DRY_LIKELY(step != DRY_UNIX_UNKNOWN) ? step : by_signal(frame, stack, module);
}

#else

enum dry_unix_step dry_unix_unwind(struct dry_unix_frame *frame, struct dry_unix_stack *stack, struct dry_unix_module *module)
{
	(void)frame, (void)stack, (void)module;
	return DRY_UNIX_UNKNOWN; /* frame pointers it is: AArch64's compilers keep them */
}

#endif
