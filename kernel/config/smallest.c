/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The first program of a kernel that has next to nothing: says that it is there, and ends the machine. */

enum { RESTART = 0x1234567, MAGIC1 = (int)0xfee1dead, MAGIC2 = 672274793 };
#ifdef __i386__
enum { WRITE = 4, REBOOT = 88 };
#else
enum { WRITE = 1, REBOOT = 169 };
#endif

static long call(long number, long first, long second, long third)
{
	long result;

#ifdef __i386__
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(first), "c"(second), "d"(third) : "memory");
#else
	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(first), "S"(second), "d"(third) : "rcx", "r11", "memory");
#endif
	return result;
}

void _start(void)
{
	static const char said[] = "end of init\n";

	call(WRITE, 1, (long)said, sizeof(said) - 1);
	call(REBOOT, MAGIC1, MAGIC2, RESTART);
	for (;;)
		;
}
