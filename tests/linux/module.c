/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Loads a module: begins it, and ends it. Its tests end in 0, or in -EAGAIN so that the kernel does not keep them. */
#include <errno.h>
#include <stdio.h>

int module_begin(void);
extern void (*const module_end)(void);
int module_wrong;

int main(void)
{
	int status = module_begin();

	if (status == 0 && module_end != NULL)
		module_end();
	printf("\n%d checks failed, status %d\n", module_wrong, status);
	return module_wrong != 0 || (status != 0 && status != -EAGAIN);
}
