/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * aligned_alloc and memalign with an alignment that is not a power of two: EINVAL. glibc
 * before 2.38 rounds the alignment up instead, so under the system's own malloc the
 * result must at least be that aligned.
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
	static const size_t bad[] = { 3, 6, 24, 100, 4095, 12288 };

	test_seed(argc, argv);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		for (int call = 0; call < 2; call++) {
			size_t align = bad[i];

			OPAQUE(align);
			errno = 0;
			void *block = call ? memalign(align, 120) : aligned_alloc(align, 120);
			if (replaced()) {
				CHECK(!block);
				CHECK_EQ(errno, EINVAL);
			} else if (!block) {
				CHECK_EQ(errno, EINVAL);
			} else {
				size_t up = 1;

				while (up < align)
					up *= 2;
				CHECK_EQ((uintptr_t)block % up, 0);
			}
			free(block);
		}
	}
	return 0;
}
