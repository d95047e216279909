/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A module of the kernel as a program: its first function is called by tests/linux/module.c. */
#ifndef DRY_TESTS_LINUX_MODULE_H
#define DRY_TESTS_LINUX_MODULE_H

#include <errno.h>
#include <stdio.h>

#include <linux/kernel.h>

int module_begin(void);
extern int module_wrong; /* checks that failed */

#define __init
#define __exit
#define module_init(function)                  \
	int module_begin(void)                 \
	{                                      \
		return function();             \
	}
#define module_exit(function) void (*const module_end)(void) = function;
#define module_param(name, type, rights)
#define MODULE_PARM_DESC(name, text)
#define MODULE_LICENSE(text)
#define MODULE_AUTHOR(text)
#define MODULE_DESCRIPTION(text)
#define KERN_ALERT
#undef printk
#define printk(...) printf(__VA_ARGS__)

static inline int module_tell(int wrong, const char *what, int line)
{
	if (wrong) {
		printf("wrong at line %d: %s\n", line, what);
		module_wrong++;
	}
	return wrong;
}
#undef WARN_ON_ONCE
#define WARN_ON_ONCE(wrong) module_tell(!!(wrong), #wrong, __LINE__)

#endif
