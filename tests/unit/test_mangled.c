/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Names of C++ functions: which function a symbol is, and that one which is cut anywhere is read no further. */
/* DRY_TEST_NO_NORSEQ: no slots. */
/* DRY_TEST_NO_POSIX: no port. */
#include <stdlib.h>
#include <string.h>

#include "../support/check.h"
#include "debug/mangled.h"

static const struct {
	const char *symbol, *name;
	bool same;
} cases[] = {
	{ "_Z2goi", "go", true },
	{ "_ZL2goi", "go", true },
	{ "_Z2goi", "g", false },
	{ "_Z3addP2go", "go", false },
	{ "_Z3addRKN1A2goE", "A::go", false },
	{ "_ZN1A2goEi", "go", true },
	{ "_ZN1A2goEi.isra.0+0x12 (a+0x13)", "A::go", true },
	{ "_ZNK1A2goEi", "A::go", true },
	{ "_ZN1A2goEi", "B::go", false },
	{ "_ZN2ns1A2goEi", "A::go", true },
	{ "_ZN2ns1A2goEi", "ns::go", false },
	{ "_ZN2ns1A2goEi", "s::A::go", false },
	{ "_ZN12_GLOBAL__N_12goEi", "go", true },
	{ "_ZN1AIiE2goEi", "A::go", true },
	{ "_ZN1AIN1B1CIiLi5EEEE2goEv", "A::go", true },
	{ "_ZN1AIA5_iSt6vectorIiSaIiEEE2goIT_T0_EEvv", "A::go", true },
	{ "_ZN1AIJiS0_DnEE2goEv", "A::go", true },
	{ "_ZN1AC2Ev", "A::A", true },
	{ "_ZN1AC2Ev", "A::~A", false },
	{ "_ZN1AD0Ev", "A::~A", true },
	{ "_ZN1AD0Ev", "A::A", false },
	{ "_ZSt4sortIPiEvT_S1_", "std::sort", true },
	{ "_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector::push_back", true },
	{ "_ZN1A2goB5cxx11Ev", "A::go", true },
	{ "_ZN1AplERKS_", "A", false },
	{ "_ZZN1A2goEvENKUlvE_clEv", "A::go", false },
	{ "go", "go", false },
	{ "_Z", "", false },
	{ "_Z2go", "", false },
	{ "_Z2go", "::go", false },
	{ "_Z99999999999999999999go", "go", false },
};

static void whole_and_cut(const char *symbol, const char *name, bool same)
{
	size_t length = strlen(symbol);

	CHECK_EQ(dry_mangled_is(symbol, name), same);
	for (size_t n = 0; n <= length; n++) {
		char *cut = malloc(n + 1);
		CHECK(cut);
		memcpy(cut, symbol, n);
		cut[n] = '\0';
		CHECK(same || !dry_mangled_is(cut, name));
		free(cut);
	}
}

static void stripped(const char *name, const char *bare)
{
	char text[64];

	strcpy(text, name);
	dry_mangled_strip(text);
	CHECK(strcmp(text, bare) == 0);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		whole_and_cut(cases[i].symbol, cases[i].name, cases[i].same);
	stripped("A::go(int, int)", "A::go");
	stripped("A<int, B<void (*)(int)>>::go<C>(int)", "A::go");
	stripped("go", "go");
	stripped("a>b", "a>b");
	stripped("a<b", "a");
	stripped("", "");
	return 0;
}
