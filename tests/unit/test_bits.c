/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Addresses of 48 bits packed into a word with a count: of programs on x86-64 and on AArch64, and of kernels. DRY_TEST_NO_NORSEQ */
#include "base/bits.h"
#include "check.h"

int main(void)
{
	static const uint64_t addresses[] = {
		0x1000,		    0x00007ffffffff000, 0xffff800000000040, 0xffffffff81000000, 0xffffffffffffffc0,
#ifndef __x86_64__
		0x0000800000000010, 0x0000fffffeff8c10,
#endif
	};

	CHECK_EQ(sizeof(void *), 8);
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		uint64_t word = addresses[i] << 16 | (i + 1), half = addresses[i] >> 48 << 48;

		CHECK_EQ((uintptr_t)dry_unpack_address(word, (void *)(uintptr_t)(half | 0x123456789000)), addresses[i]);
	}
	return 0;
}
