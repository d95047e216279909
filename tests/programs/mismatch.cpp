// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Blocks that are freed by another family than they were allocated by. Arguments: a number of a case (the list below; "right":
// everything as it should be) and a size.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#ifdef NOTHROW // forms that go by malloc: a program's own ones, or (LIBRARY) those of a C++ library before GCC 9
void *operator new(size_t size, const std::nothrow_t &) noexcept
{
	return malloc(size);
}

void *operator new[](size_t size, const std::nothrow_t &) noexcept
{
	return malloc(size);
}

void *operator new(size_t size, std::align_val_t align, const std::nothrow_t &) noexcept
{
	return aligned_alloc(static_cast<size_t>(align), size);
}

void *operator new[](size_t size, std::align_val_t align, const std::nothrow_t &) noexcept
{
	return aligned_alloc(static_cast<size_t>(align), size);
}
#endif

#ifdef LIBRARY // what others allocate and free; they do so by operators of their own
extern "C" void *make(size_t size)
{
	return ::operator new(size);
}

extern "C" void take(void *block)
{
	::operator delete(block);
}
#else

#ifdef CROSS
extern "C" void *make(size_t size);
extern "C" void take(void *block);
#else
static void *make(size_t size)
{
	return ::operator new(size);
}

static void take(void *block)
{
	::operator delete(block);
}
#endif

#ifdef REPLACED // by the two that all others go by
void *operator new(size_t size)
{
	return malloc(size);
}

void operator delete(void *block) noexcept
{
	free(block);
}
#endif

#ifdef REPLACED_ARRAY // a delete[] that knows how new[] is made
void operator delete[](void *block) noexcept
{
	::operator delete(block);
}
#endif

// The compiler knows nothing of it.
static void *hidden(void *block)
{
	asm volatile("" : "+r"(block));
	return block;
}

struct alignas(64) wide {
	char bytes[200];
};

static void right(size_t size)
{
	const std::align_val_t align{ 64 };

	for (int i = 0; i < 60; i++) {
		::operator delete(hidden(::operator new(size)));
		::operator delete(hidden(::operator new(size)), size);
		::operator delete(hidden(::operator new(size, std::nothrow)), std::nothrow);
		::operator delete(hidden(::operator new(size, align)), align);
		::operator delete(hidden(::operator new(size, align)), size, align);
		::operator delete(hidden(::operator new(size, align, std::nothrow)), align, std::nothrow);
		::operator delete[](hidden(::operator new[](size)));
		::operator delete[](hidden(::operator new[](size)), size);
		::operator delete[](hidden(::operator new[](size, std::nothrow)), std::nothrow);
		::operator delete[](hidden(::operator new[](size, align)), align);
		::operator delete[](hidden(::operator new[](size, align)), size, align);
		::operator delete[](hidden(::operator new[](size, align, std::nothrow)), align, std::nothrow);
		free(hidden(realloc(hidden(calloc(1, size)), 2 * size)));
		free(hidden(aligned_alloc(64, size)));
		take(hidden(::operator new(size)));
		::operator delete(hidden(make(size)));
		delete new wide;
		delete[] new wide[3];
		delete[] new std::string[3];
		std::make_shared<std::vector<std::string>>(5, std::string(size, 'x'));
		free(strdup("text"));
	}
}

int main(int, char **argv)
{
	size_t size = strtoul(argv[2], nullptr, 10);

	right(size);
	switch (atoi(argv[1])) {
	case 1:
		free(hidden(::operator new(size)));
		break;
	case 2:
		free(hidden(::operator new[](size, std::nothrow)));
		break;
	case 3:
		::operator delete(hidden(malloc(size)));
		break;
	case 4:
		::operator delete[](hidden(calloc(1, size)));
		break;
	case 5:
		::operator delete(hidden(::operator new[](size)));
		break;
	case 6:
		::operator delete[](hidden(::operator new(size)));
		break;
	case 7:
		puts(realloc(hidden(::operator new(size)), 2 * size) ? "it moved" : "none");
		break;
	case 8:
		::operator delete(hidden(malloc(size)), size);
		break;
	case 9:
		::operator delete[](hidden(::operator new(size)), size);
		break;
	case 10:
		::operator delete[](hidden(::operator new(size, std::align_val_t{ 64 })), std::align_val_t{ 64 });
		break;
	case 11:
		::operator delete(hidden(realloc(hidden(malloc(size)), size + 1)), std::nothrow);
		break;
	case 12: { // of a wrong size, after which it is there yet, then as it should be
		void *block = hidden(::operator new(size));
		::operator delete(block, size + 1000);
		::operator delete(hidden(block), size);
		break;
	}
	case 13: {
		void *block = hidden(::operator new[](size));
		::operator delete[](block, size + 1000);
		::operator delete[](hidden(block));
		break;
	}
	}
	puts("went on");
	return 0;
}
#endif
