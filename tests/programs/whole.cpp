/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* For test_symbolize.sh: writes beside a block, frees it twice or reads it when it is freed, by functions of which one is inlined. */
#include <cstdlib>
#include <cstring>

namespace deep {

template <typename T> struct Box {
	__attribute__((noinline)) void spoil(T *block, char what);
};

static inline __attribute__((always_inline)) void twice(void *block)
{
	free(block); /* first */
	free(block); /* second */
}

template <typename T> void Box<T>::spoil(T *block, char what)
{
	volatile T *seen = block;

	if (what == 't')
		twice(block);
	free(block);
	if (what == 'r')
		(void)seen[0]; /* access */
	asm volatile("");
}

} // namespace deep

int main(int count, char **argument)
{
	char *block = static_cast<char *>(malloc(8000));

	memset(block, 1, 8000);
	deep::Box<char>().spoil(block, count > 1 ? argument[1][0] : 't');
	return 0;
}
