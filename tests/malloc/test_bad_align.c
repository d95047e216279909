/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * An alignment that is not a power of two: aligned_alloc() gives EINVAL, memalign() rounds it up, as glibc's do; before
 * 2.38 both did, so under the system's own malloc the result must at least be that aligned.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "../support/check.h"
#include "../support/random.h"

/* Is malloc another than the C library's? */
static int replaced(void)
{
	Dl_info info;

	CHECK(dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info));
	return !strstr(info.dli_fname, "libc.so");
}

int main(int argc, char **argv)
{
	static const size_t bad[] = { 0, 3, 6, 24, 100, 4095, 12288 };

	test_seed(argc, argv);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		for (int call = 0; call < 2; call++) {
			size_t align = bad[i];

			OPAQUE(align);
			errno = 0;
			void *block = call ? memalign(align, 120) : aligned_alloc(align, 120);
			if (replaced() && !call) {
				CHECK(!block);
				CHECK_EQ(errno, EINVAL);
			} else if (!block && !replaced()) {
				CHECK_EQ(errno, EINVAL);
			} else {
				size_t up = 1;

				while (up < align)
					up *= 2;
				CHECK(block && (uintptr_t)block % up == 0);
			}
			free(block);
		}
	}
	CHECK(!memalign(SIZE_MAX / 2 + 2, 100) && errno == EINVAL);
	return 0;
}
