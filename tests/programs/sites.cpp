// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Functions whose allocations fail by --fail=site=..., for test_fail.sh: a letter each, '.', or 'x' if it failed.
#include <cstdio>
#include <cstdlib>

#define APART __attribute__((noinline, noclone))

static void *volatile hold;

static APART bool try_it(int size)
{
	hold = malloc(size);
	bool failed = hold == nullptr;
	free(hold);
	return failed;
}

// As a compiler names a clone of cloned().
extern "C" APART bool clone(int size) __asm__("cloned.constprop.0.isra.0");
bool clone(int size)
{
	return try_it(size) | (hold == &hold);
}

class A {
public:
	APART bool go(int size)
	{
		return try_it(size) | (hold == &hold);
	}
};

namespace B {
struct A {
	bool failed;
	APART bool go(const char *text)
	{
		return try_it(*text) | (hold == &hold);
	}
	APART A() : failed(try_it(20))
	{
	}
	APART ~A()
	{
		destroyed = try_it(30);
	}
	static bool destroyed;
};
bool A::destroyed;
template<class T, int N> APART bool of(A *, T size)
{
	return try_it(size + N) | (hold == &hold);
}
}

template<class T> struct C {
	APART bool go(T size)
	{
		return try_it(size) | (hold == &hold);
	}
};

static APART bool go(int size)
{
	return try_it(size) | (hold == &hold);
}

namespace {
APART bool hidden(int size)
{
	return try_it(size) | (hold == &hold);
}
}

APART bool operator+(const A &, int size)
{
	return try_it(size) | (hold == &hold);
}

extern "C" APART bool named(int size)
{
	return try_it(size) | (hold == &hold);
}

#define LONG       bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
#define TWICE(a)   JOIN(a, a)
#define JOIN(a, b) a##b

APART bool TWICE(LONG)(int size)
{
	return try_it(size) | (hold == &hold);
}

int main()
{
	char letters[16];
	int n = 0;
	auto say = [&](bool failed) { letters[n++] = failed ? 'x' : '.'; };
	A a;

	say(clone(50));
	say(a.go(50));
	{
		B::A b;
		say(b.go("2"));
		say(C<int>().go(60));
		say(go(70));
		say(b.failed);
	}
	say(B::A::destroyed);
	say(hidden(80));
	say(a + 80);
	say(B::of<int, 5>(nullptr, 90));
	say(named(100));
	say(TWICE(LONG)(110));
	letters[n] = '\0';
	return puts(letters) < 0;
}
