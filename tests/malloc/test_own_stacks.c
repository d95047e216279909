/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Stacks that a program makes itself and switches to by assembler, with a page that faults above: nothing lies above the outermost
 * frame. On one malloc and free are called in profiles that take stacks, by the first thread and by another, and an error is
 * reported. A stack that is used up is left by a handler, which allocates, too.
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/profiles.h"

#define STACK  ((size_t)64 << 10)
#define SLACK  ((size_t)64 << 10) /* the biggest page */
#define BLOCKS 200

static const char *const profiles[] = { "exit_check:1", "check:1", "secure:1", "guard:1,guard_rate:3", "profile:1000",
					"debug:FZPUQ" };

static void *blocks[BLOCKS];
static volatile int wrong;

static void work(void)
{
	for (size_t i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(i * 3 + 1);
		CHECK(blocks[i] != NULL);
		memset(blocks[i], 1, i * 3 + 1);
	}
	for (size_t i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	if (wrong) {
		void *block = malloc(200), *again = block;

		OPAQUE(again);
		free(block);
		free(again);
	}
}

static char *make_stack(void)
{
	char *low = mmap(NULL, STACK + 2 * SLACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(low != MAP_FAILED);
	CHECK_EQ(mprotect(low + SLACK, STACK, PROT_READ | PROT_WRITE), 0);
	return low + SLACK;
}

static void drop_stack(char *stack)
{
	CHECK_EQ(munmap(stack - SLACK, STACK + 2 * SLACK), 0);
}

#ifdef __x86_64__
/* Calls on another stack; as with assembler inside a function of C, its table tells of the stack that it began on. */
void on_stack(char *top, void (*fn)(void));
__asm__(".text\n"
	"on_stack:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	mov %rsp, %rbx\n"
	"	mov %rdi, %rsp\n"
	"	xor %ebp, %ebp\n"
	"	call *%rsi\n"
	"	mov %rbx, %rsp\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	"	.cfi_endproc\n");
#elif defined(__aarch64__)
void on_stack(char *top, void (*fn)(void));
__asm__(".text\n"
	"on_stack:\n"
	"	stp x29, x30, [sp, #-32]!\n"
	"	str x19, [sp, #16]\n"
	"	mov x19, sp\n"
	"	mov sp, x0\n"
	"	mov x29, xzr\n"
	"	blr x1\n"
	"	mov sp, x19\n"
	"	ldr x19, [sp, #16]\n"
	"	ldp x29, x30, [sp], #32\n"
	"	ret\n");
#else
static void on_stack(char *top, void (*fn)(void))
{
	(void)top;
	fn();
}
#endif

static void on_own(void)
{
	char *stack = make_stack();

	on_stack(stack + STACK, work);
	/* what was learnt of one must not be believed of the next at the same place, of which less can be read */
	CHECK_EQ(mprotect(stack + STACK / 2, STACK / 2, PROT_NONE), 0);
	on_stack(stack + STACK / 2, work);
	drop_stack(stack);
}

static sigjmp_buf back;

static void overflowed(int signal)
{
	(void)signal;
	work();
	siglongjmp(back, 1);
}

__attribute__((noinline)) static int use_up(volatile char *above)
{
	volatile char here[512];

	here[0] = above[0];
	return (wrong < 2 ? use_up(here) : 0) + here[0];
}

static void use_up_all(void)
{
	volatile char none = 0;

	use_up(&none);
}

static void test_overflow(void)
{
	struct sigaction action = { .sa_handler = overflowed, .sa_flags = SA_ONSTACK }, before;
	char *stack = make_stack(), *used = make_stack();
	stack_t alternative = { .ss_sp = stack, .ss_size = STACK };

	CHECK_EQ(sigaltstack(&alternative, NULL), 0);
	CHECK_EQ(sigaction(SIGSEGV, &action, &before), 0);
	if (sigsetjmp(back, 1) == 0)
		on_stack(used + STACK, use_up_all);
	CHECK_EQ(sigaction(SIGSEGV, &before, NULL), 0);
	alternative.ss_flags = SS_DISABLE;
	CHECK_EQ(sigaltstack(&alternative, NULL), 0);
	drop_stack(stack);
	drop_stack(used);
}

static void *in_thread(void *arg)
{
	work();
	on_own();
	return arg;
}

static void test_report(void)
{
	struct rlimit none = { 0, 0 };
	int status, null;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &none);
		null = open("/dev/null", O_WRONLY);
		dup2(null, 2);
		wrong = 1;
		on_own();
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status));
	CHECK_EQ(WTERMSIG(status), SIGABRT);
}

static void run(uint64_t seed)
{
	pthread_t thread;

	(void)seed;
	on_own();
	CHECK_EQ(pthread_create(&thread, NULL, in_thread, NULL), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	on_own();
#if defined(__x86_64__) || defined(__aarch64__)
	test_overflow();
#endif
	test_report();
}

int main(int argc, char **argv)
{
	return test_in_profiles(argc, argv, profiles, sizeof(profiles) / sizeof(profiles[0]), run);
}
