/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Stacks: right where there are frames, no fault and no nonsense where there are none. Code without frame pointers and what a
 * signal interrupted have tables (x86-64).
 */
#include <pthread.h>
#include <signal.h>

#include "../support/check.h"
#include "port/stack.h"

#define MAX 12

#define APART __attribute__((noinline, noclone))

static uintptr_t frames[MAX];
static unsigned count;

APART static void inner(void)
{
	count = dry_port_stack(frames, MAX);
	OPAQUE(count);
}

APART static void middle(void)
{
	inner();
	OPAQUE(count);
}

APART static void outer(void)
{
	middle();
	OPAQUE(count);
}

APART static void deep(unsigned depth)
{
	if (depth == 0)
		inner();
	else
		deep(depth - 1);
	OPAQUE(depth);
}

/* The address lies in a function that is no longer than 200 bytes (with sanitizers, 2000). */
static int in(uintptr_t address, void (*function)(void))
{
	return address > (uintptr_t)function && address < (uintptr_t)function + 2000;
}

static void test_frames(void)
{
	outer();
	CHECK(count >= 4 && count <= MAX);
	CHECK(in(frames[0], inner));
	CHECK(in(frames[1], middle));
	CHECK(in(frames[2], outer));
	deep(100);
	CHECK_EQ(count, MAX);
	for (int i = 2; i < MAX; i++)
		CHECK_EQ(frames[i], frames[2]);
	CHECK_EQ(dry_port_stack(frames, 0), 0);
	CHECK_EQ(dry_port_stack(frames, 1), 1);
}

static void test_names(void)
{
	char text[128], cut[9], narrow[60];
	const char *place;
	size_t length;

	outer();
	length = dry_port_symbol(frames[0], text, sizeof(text));
	CHECK_EQ(length, strlen(text));
	CHECK(strstr(text, "inner+0x") == text);
	CHECK(strstr(text, "(unit_stack"));
	/* a name that is too long leaves the place whole */
	CHECK(place = strstr(text, " (unit_stack"));
	CHECK(place - text > 6);
	length = dry_port_symbol(frames[0], narrow, strlen(place) + 6);
	CHECK_EQ(length, strlen(place) + 5);
	CHECK(strncmp(narrow, text, 5) == 0);
	CHECK(!strcmp(narrow + 5, place));
	length = dry_port_symbol(frames[0], cut, sizeof(cut));
	CHECK_EQ(length, strlen(cut));
	CHECK(strlen(cut) < sizeof(cut));
	dry_port_symbol(0x1234, text, sizeof(text));
	CHECK(!strcmp(text, "0x1234"));
}

#ifdef __x86_64__
/* Calls inner() with any frame pointer. */
void with_frame(uintptr_t frame);
__asm__(".text\n"
	"with_frame:\n"
	"	push %rbp\n"
	"	mov %rdi, %rbp\n"
	"	call inner\n"
	"	pop %rbp\n"
	"	ret\n");

static void test_nonsense(void)
{
	/* what looks like a frame on the stack, with an address that is no code, and then one that is, and has no table */
	volatile uintptr_t fake[4] = { 0, 0x1234567, 0, (uintptr_t)with_frame + 3 };

	for (int i = 0; i < 64; i++) {
		with_frame((uintptr_t)1 << i);
		CHECK_EQ(count, 2);
		with_frame(((uintptr_t)1 << i) - 1);
		CHECK_EQ(count, 2);
	}
	with_frame((uintptr_t)fake);
	CHECK_EQ(count, 2);
	with_frame((uintptr_t)fake + 4);
	CHECK_EQ(count, 2);
	with_frame((uintptr_t)(fake + 2));
	CHECK_EQ(count, 3);
	with_frame((uintptr_t)&frames);
	CHECK_EQ(count, 2);
}

/* As compilers would make it: no frame pointer, and the register has something else. */
void without_frame(void (*fn)(void));
__asm__(".text\n"
	"without_frame:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rbp, 0\n"
	"	sub $48, %rsp\n"
	"	.cfi_adjust_cfa_offset 48\n"
	"	mov $1, %ebp\n"
	"	call *%rdi\n"
	"	add $48, %rsp\n"
	"	.cfi_adjust_cfa_offset -48\n"
	"	pop %rbp\n"
	"	.cfi_restore %rbp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n");

APART static void test_tables(void)
{
	for (int i = 0; i < 2; i++) { /* read, then kept */
		without_frame(inner);
		CHECK(count >= 3);
		CHECK(in(frames[0], inner));
		CHECK(in(frames[1], (void (*)(void))without_frame));
		CHECK(in(frames[2], test_tables));
	}
}

APART static void handle(int signal)
{
	inner();
	OPAQUE(signal);
}

APART static void interrupted(void)
{
	__asm__ volatile("ud2" ::: "memory");
}

static void skip_it(int signal, siginfo_t *info, void *context)
{
	handle(signal);
	OPAQUE(info);
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

APART static void test_signal(void)
{
	struct sigaction action = { .sa_sigaction = skip_it, .sa_flags = SA_SIGINFO };

	CHECK(!sigaction(SIGILL, &action, NULL));
	interrupted();
	CHECK(count >= 6);
	CHECK(in(frames[1], (void (*)(void))handle));
	CHECK(frames[4] == (uintptr_t)interrupted || in(frames[4], interrupted)); /* after the way out of the handler */
	CHECK(in(frames[5], test_signal));
}
#else
static void test_nonsense(void)
{
}

static void test_tables(void)
{
}

static void test_signal(void)
{
}
#endif

static void *in_thread(void *arg)
{
	uint32_t *number = arg;

	*number = dry_port_thread();
	CHECK_EQ(dry_port_thread(), *number);
	test_frames();
	test_nonsense();
	test_tables();
	return NULL;
}

int main(void)
{
	uint32_t mine = dry_port_thread(), other;
	pthread_t thread;

	CHECK(mine != 0);
	test_frames();
	test_names();
	test_nonsense();
	test_tables();
	test_signal();
	CHECK(!pthread_create(&thread, NULL, in_thread, &other));
	CHECK(!pthread_join(thread, NULL));
	CHECK(other != mine);
	return 0;
}
