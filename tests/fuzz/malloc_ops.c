/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the targets `malloc` and `profile` share: the malloc family as a stream of calls. */
#include "malloc_ops.h"

#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <drystone/drystone.h>

#include "child.h"
#include "faults.h"
#include "malloc/kind.h"

#define BLOCKS 512

struct block {
	unsigned char *at;
	size_t size, usable, align;
	size_t asked; /* what a sized free has to say: pvalloc() rounds up */
};

struct malloc_world world;
static struct input in;
static struct block blocks[BLOCKS];
static volatile size_t opaque_size; /* keeps compilers from judging sizes that cannot be */

/* In glibc from 2.38 on, and in drystone; C23. */
void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t align, size_t size);
void cfree(void *block);
void *pvalloc(size_t size);
/* operator new, new[], delete, delete[] and the aligned and sized ones, by their names in the ABI. */
void *_Znwm(size_t size);
void *_Znam(size_t size);
void *_ZnwmSt11align_val_t(size_t size, size_t align);
void *_ZnamSt11align_val_t(size_t size, size_t align);
void _ZdlPv(void *block);
void _ZdaPv(void *block);
void _ZdlPvm(void *block, size_t size);
void _ZdaPvm(void *block, size_t size);
void _ZdlPvSt11align_val_t(void *block, size_t align);
void _ZdaPvSt11align_val_t(void *block, size_t align);
void _ZdlPvmSt11align_val_t(void *block, size_t size, size_t align);
void _ZdaPvmSt11align_val_t(void *block, size_t size, size_t align);
void _ZdlPvRKSt9nothrow_t(void *block, const void *tag);
void _ZdaPvRKSt9nothrow_t(void *block, const void *tag);
void _ZdlPvSt11align_val_tRKSt9nothrow_t(void *block, size_t align, const void *tag);
void _ZdaPvSt11align_val_tRKSt9nothrow_t(void *block, size_t align, const void *tag);

static unsigned char byte_of(const struct block *block, size_t i)
{
	return (unsigned char)((size_t)(block - blocks) * 7 + i * 31 + 3);
}

static void paint(const struct block *block)
{
	for (size_t i = 0; i < block->size && i < 32; i++)
		block->at[i] = byte_of(block, i);
	if (block->size)
		block->at[block->size - 1] = byte_of(block, block->size - 1);
}

static void painted(const struct block *block)
{
	for (size_t i = 0; i < block->size && i < 32; i++)
		EXPECT(block->at[i] == byte_of(block, i));
	EXPECT(!block->size || block->at[block->size - 1] == byte_of(block, block->size - 1));
	EXPECT(malloc_usable_size(block->at) == block->usable);
}

static void got(struct block *block, void *at, size_t size, size_t align)
{
	if (!at) {
		EXPECT(faults.refused || faults.fail || world.may_fail);
		return;
	}
	*block = (struct block){ at, size, malloc_usable_size(at), align, size };
	EXPECT((uintptr_t)at % align == 0 && block->usable >= size);
	paint(block);
}

/* ---- C++ without C++: what new throws comes back here ------------------------------------ */

static jmp_buf thrown;
static bool catching;
static unsigned handler_calls;

static void let_it_have(void)
{
	if (--handler_calls == 0)
		faults.fail = 0;
}

/* std::get_new_handler and std::__throw_bad_alloc */
void (*_ZSt15get_new_handlerv(void))(void);
void (*_ZSt15get_new_handlerv(void))(void)
{
	return handler_calls != 0 ? let_it_have : NULL;
}

void _ZSt17__throw_bad_allocv(void);
void _ZSt17__throw_bad_allocv(void)
{
	EXPECT(catching);
	longjmp(thrown, 1);
}

/* NULL: it threw. */
static void *new_or_null(void *(*volatile plain)(size_t), void *(*volatile with)(size_t, size_t), size_t size, size_t align)
{
	void *at;

	catching = true;
	if (setjmp(thrown) != 0)
		at = NULL;
	else
		at = plain ? plain(size) : with(size, align);
	catching = false;
	return at;
}

/* Families are mixed at will; where they are kept, the block is one of that which comes next. */
static void mix(void *block, enum dry_kind kind)
{
	if (block)
		dry_kind_note(block, kind);
}

/* A handler that helps at its n-th call; 0: there is none. */
static void op_new_fails(void)
{
	uint64_t fail = faults.fail;
	unsigned helps = input_8(&in) % 4, how = input_8(&in);
	size_t huge = how & 1 ? SIZE_MAX / 2 + how : (size_t)1 << 40;
	void *at;

	faults.fail = UINT64_MAX;
	handler_calls = helps;
	at = how & 2 ? new_or_null(NULL, _ZnwmSt11align_val_t, huge, 64) : new_or_null(_Znam, NULL, huge, 0);
	/* Refused for ever, or until it helps; the handler is not asked again then. */
	EXPECT(!at || (helps && !(how & 1)));
	mix(at, DRY_KIND_NEW_ARRAY);
	_ZdaPv(at);
	EXPECT(helps == 0 || handler_calls == 0);
	handler_calls = 0;
	faults.fail = fail;
}

/* ---- in and out ------------------------------------------------------------------------------ */

static void *aligned(unsigned how, size_t align, size_t size)
{
	void *at = NULL;

	switch (how % 5) {
	case 0:
		return aligned_alloc(align, size);
	case 1:
		return memalign(align, size);
	case 2:
		return posix_memalign(&at, align < sizeof(void *) ? sizeof(void *) : align, size) ? NULL : at;
	case 3:
		return new_or_null(NULL, _ZnwmSt11align_val_t, size, align);
	default:
		return new_or_null(NULL, _ZnamSt11align_val_t, size, align);
	}
}

static void op_alloc(void)
{
	struct block *block = &blocks[input_16(&in) % BLOCKS];
	unsigned how = input_8(&in);
	size_t size = input_size(&in, 22), align = size < 16 ? 8 : 16;
	void *at;

	if (block->at)
		return;
	switch (how % 8) {
	case 0:
		at = new_or_null(_Znwm, NULL, size, 0);
		break;
	case 1:
		at = new_or_null(_Znam, NULL, size, 0);
		break;
	case 2:
		align = (size_t)1 << input_8(&in) % 22;
		at = aligned(how >> 3, align, size);
		break;
	case 3:
		align = 4096;
		at = how & 8 ? valloc(size) : pvalloc(size);
		break;
	case 4:
		at = calloc(1 + how / 16, size / (1 + how / 16) + 1);
		size = at ? (size / (1 + how / 16) + 1) * (1 + how / 16) : size;
		for (size_t i = 0; at && i < size; i += i < 64 || i + 64 > size ? 1 : 61)
			EXPECT(((unsigned char *)at)[i] == 0);
		break;
	default:
		at = malloc(size);
	}
	got(block, at, size, align);
	if (at && how % 8 == 3 && !(how & 8))
		block->asked = (size + 4095) & ~(size_t)4095;
}

static void op_free(void)
{
	struct block *block = &blocks[input_16(&in) % BLOCKS];
	unsigned how = input_8(&in) % 16;
	size_t align = block->align < 8 ? 8 : block->align;

	if (block->at)
		painted(block);
	/* Who says a size has to say an alignment, too. */
	if (align > 16 && (how == 2 || how == 3 || how == 6))
		how = 7;
	if (how >= 6 && how < 12)
		mix(block->at, DRY_KIND_MALLOC);
	else
		mix(block->at, how == 1 || how == 3 || how == 13 || how == 15 ? DRY_KIND_NEW_ARRAY : DRY_KIND_NEW);
	errno = 77;
	switch (how) {
	case 0:
		_ZdlPv(block->at);
		break;
	case 1:
		_ZdaPv(block->at);
		break;
	case 2:
		_ZdlPvm(block->at, block->asked);
		break;
	case 3:
		_ZdaPvm(block->at, block->asked);
		break;
	case 4:
		_ZdlPvSt11align_val_t(block->at, 16);
		_ZdaPvSt11align_val_t(NULL, 16);
		break;
	case 5:
		_ZdlPvmSt11align_val_t(block->at, block->asked, align);
		_ZdaPvmSt11align_val_t(NULL, 0, 8);
		break;
	case 6:
		free_sized(block->at, block->asked);
		break;
	case 7:
		free_aligned_sized(block->at, align, block->asked);
		break;
	case 8:
		cfree(block->at);
		break;
	case 9: {
		void *none = block->at ? realloc(block->at, 0) : NULL;

		EXPECT(!none);
		break;
	}
	case 12:
		_ZdlPvRKSt9nothrow_t(block->at, &in);
		_ZdaPvRKSt9nothrow_t(NULL, &in);
		break;
	case 13:
		_ZdaPvRKSt9nothrow_t(block->at, &in);
		_ZdlPvSt11align_val_tRKSt9nothrow_t(NULL, 8, &in);
		break;
	case 14:
		_ZdlPvSt11align_val_tRKSt9nothrow_t(block->at, 16, &in);
		break;
	case 15:
		_ZdaPvSt11align_val_tRKSt9nothrow_t(block->at, 16, &in);
		break;
	default:
		free(block->at);
	}
	EXPECT(errno == 77);
	block->at = NULL;
}

static void op_realloc(void)
{
	struct block *block = &blocks[input_16(&in) % BLOCKS];
	size_t size = input_size(&in, 23) + 1, kept;
	unsigned char *moved;

	if (block->at)
		painted(block);
	mix(block->at, DRY_KIND_MALLOC);
	moved = input_8(&in) & 1 ? realloc(block->at, size) : reallocarray(block->at, 1, size);
	if (!moved) {
		EXPECT((faults.refused || world.may_fail) && errno == ENOMEM);
		if (block->at)
			painted(block);
		return;
	}
	kept = block->at ? (block->size < size ? block->size : size) : 0;
	for (size_t i = 0; i < kept && i < 32; i++)
		EXPECT(moved[i] == byte_of(block, i));
	got(block, moved, size, size < 16 ? 8 : 16);
}

/* A request that nobody can fulfil. */
#define REFUSED(call, error) (errno = 0, EXPECT(!(call) && errno == (error)))

static void op_impossible(void)
{
	size_t huge = SIZE_MAX - input_16(&in), odd = 3 + 2 * (size_t)input_8(&in);
	void *at = &in;

	opaque_size = huge;
	REFUSED(malloc(opaque_size), ENOMEM);
	REFUSED(calloc(opaque_size / 2, 3), ENOMEM);
	REFUSED(calloc(1, opaque_size), ENOMEM);
	REFUSED(realloc(NULL, opaque_size), ENOMEM);
	REFUSED(reallocarray(NULL, opaque_size / 4, 5), ENOMEM);
	REFUSED(pvalloc(opaque_size), ENOMEM);
	REFUSED(valloc(opaque_size), ENOMEM);
	REFUSED(aligned_alloc(4096, opaque_size), ENOMEM);
	opaque_size = odd;
	REFUSED(aligned_alloc(opaque_size, 64), EINVAL);
	EXPECT(posix_memalign(&at, opaque_size, 64) == EINVAL && at == (void *)&in);
	opaque_size = huge;
	EXPECT(posix_memalign(&at, 64, opaque_size) == ENOMEM && at == (void *)&in);
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (!blocks[i].at)
			continue;
		mix(blocks[i].at, DRY_KIND_MALLOC);
		REFUSED(realloc(blocks[i].at, opaque_size), ENOMEM);
		painted(&blocks[i]);
		break;
	}
}

static FILE *nowhere, *full;

/* In the child of a fork: what is left of the input, as in the parent. */
static void rest(void)
{
	world.is_child = true;
	malloc_stream(in);
}

static void op_ask(void)
{
	size_t used = 0, given;

	switch (input_8(&in) % 64) {
	case 7: /* rare, because it is slow */
		if (!world.is_child)
			EXPECT(in_child(rest));
		break;
	case 0:
		malloc_trim(input_16(&in));
		break;
	case 1:
		malloc_stats();
		faults.reports = 0;
		break;
	case 2:
		EXPECT(malloc_info(0, nowhere) == 0);
		EXPECT(malloc_info(0, full) == -1);
		clearerr(full);
		errno = 0;
		EXPECT(malloc_info(1, nowhere) == -1 && errno == EINVAL);
		break;
	case 3:
		EXPECT(mallopt(M_TRIM_THRESHOLD, 1) == 1);
		EXPECT(strlen(dry_version()) >= 5);
		EXPECT(malloc_usable_size(NULL) == 0);
		break;
	default:
		for (unsigned i = 0; i < BLOCKS; i++)
			used += blocks[i].at ? blocks[i].size : 0;
		given = mallinfo2().uordblks + mallinfo2().hblkhd;
		EXPECT(given >= used);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* but programs call it */
		EXPECT(mallinfo().uordblks >= 0);
#pragma GCC diagnostic pop
		EXPECT(dry_heap_check(NULL) == 0);
	}
}

static void op_wrong(void)
{
	unsigned how = input_8(&in), reports = faults.reports;
	struct block *block = &blocks[how % BLOCKS];

	if (how & 1) {
		free(&how);
	} else {
		if (!block->at || block->size < 100000)
			return;
		free(block->at + 4096 + how);
	}
	EXPECT(faults.reports == reports + 1);
	faults.reports--;
}


/* ---- the whole ---------------------------------------------------------------------------------- */

static unsigned other_size;
static void *other_block;

static void other_alloc(void)
{
	other_block = malloc(other_size);
}

static void op_other_thread(void)
{
	unsigned after = input_8(&in) % 8;

	other_size = input_16(&in);
	faults_meanwhile(dry_heap_default(), after, other_alloc);
}

static void op_rare(unsigned what)
{
	if (world.op_rare && what >= 4)
		world.op_rare(&in, what);
	else if (what & 1)
		op_new_fails();
	else
		op_other_thread();
}

static void step(void)
{
	static void (*const ops[])(void) = { op_alloc, op_alloc, op_alloc, op_free, op_free, op_realloc, op_ask };
	unsigned op = input_8(&in);

	if ((op & 7) < 7)
		ops[op & 7]();
	else if (op & 128)
		op_rare(op >> 3 & 15);
	else if (op & 64)
		op_impossible();
	else if (op & 32)
		op_wrong();
	else
		faults.fail = op & 8 ? input_64(&in) : 0;
	if (faults_meanwhile_join()) {
		free(other_block);
		other_block = NULL;
	}
}

void malloc_begin(void)
{
	if (!nowhere) {
		EXPECT((nowhere = fopen("/dev/null", "w")) && (full = fopen("/dev/full", "w")));
		EXPECT(setvbuf(full, NULL, _IONBF, 0) == 0);
	}
	memset(&faults, 0, sizeof(faults));
	memset(blocks, 0, sizeof(blocks));
	faults.catch_lines = true;
}

void malloc_stream(struct input input)
{
	in = input;
	while (input_more(&in))
		step();
	faults_meanwhile(NULL, 0, NULL);
	faults.fail = 0;
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (blocks[i].at)
			painted(&blocks[i]);
		mix(blocks[i].at, DRY_KIND_MALLOC);
		free(blocks[i].at);
		blocks[i].at = NULL;
	}
	EXPECT(dry_heap_check(NULL) == 0);
	if (faults.reports != 0)
		fprintf(stderr, "fuzz: said %s", faults.line);
	EXPECT(faults.reports == 0);
}
