// SPDX-License-Identifier: MIT OR GPL-2.0-only
// A program with operators of its own; built with ALL: every pair, with ONE: the plain pair only, and all others must
// come to it. Its blocks begin in the middle of malloc's, so that a free which passes it by is an error.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {
long made, freed;
volatile std::size_t absurd = static_cast<std::size_t>(PTRDIFF_MAX) - 100;

void *take(std::size_t size)
{
	char *block = static_cast<char *>(std::malloc(size + 32));

	if (!block)
		throw std::bad_alloc();
	made++;
	return block + 32;
}

void give(void *object)
{
	if (!object)
		return;
	freed++;
	std::free(static_cast<char *>(object) - 32);
}

struct item {
	long values[5];
	~item() { values[0] = 0; }
};

template <class T> T *keep(T *object)
{
	asm volatile("" : "+r"(object));
	return object;
}
} // namespace

void *operator new(std::size_t size)
{
	return take(size);
}
void operator delete(void *object) noexcept
{
	give(object);
}
#ifdef ALL
void *operator new[](std::size_t size)
{
	return take(size);
}
void operator delete[](void *object) noexcept
{
	give(object);
}
void operator delete(void *object, std::size_t) noexcept
{
	give(object);
}
void operator delete[](void *object, std::size_t) noexcept
{
	give(object);
}
#endif

int main()
{
	for (int i = 0; i < 1000; i++) {
		delete keep(new item());
		delete[] keep(new item[3]);
		::operator delete(keep(::operator new(40)), std::size_t(40));
		::operator delete[](keep(::operator new[](40)), std::size_t(40));
		::operator delete(keep(::operator new(40, std::nothrow)), std::nothrow);
		::operator delete[](keep(::operator new[](40, std::nothrow)), std::nothrow);
	}
	// what it throws does not pass a form that throws nothing
	for (int i = 0; i < 3; i++)
		if (keep(::operator new(absurd, std::nothrow)) || keep(::operator new[](absurd, std::nothrow)))
			return 1;
	std::printf("%ld made, %ld freed\n", made, freed);
	return made >= 6000 && made == freed ? 0 : 1;
}
