// SPDX-License-Identifier: MIT OR GPL-2.0-only
// All forms of C++ new and delete: plain, array, sized, aligned, nothrow; bad_alloc and the new-handler.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "../support/check.h"
#include "../support/pattern.h"
#include "../support/random.h"

namespace {

struct alignas(256) wide {
	char bytes[300];
};

volatile std::size_t absurd = static_cast<std::size_t>(PTRDIFF_MAX) - 100;
int handled;

void give_up()
{
	if (++handled == 3)
		std::set_new_handler(nullptr);
}

void handler_throws()
{
	handled++;
	throw std::bad_alloc();
}

// Does call(), which returns memory, throw instead? The result is shown to the world, so that it is not elided.
template <class F> bool throws_bad_alloc(F call)
{
	try {
		void *block = call();

		OPAQUE(block);
		::operator delete(block);
	} catch (const std::bad_alloc &) {
		return true;
	}
	return false;
}

bool refused(void *block)
{
	OPAQUE(block);
	return !block;
}

void test_forms(rng &random)
{
	for (std::size_t round = 0; round < test_scaled(20000); round++) {
		std::size_t size = rng_size(&random, 14);
		auto align = static_cast<std::align_val_t>(std::size_t(8) << rng_below(&random, 10));
		void *block[8] = { ::operator new(size),
				   ::operator new[](size),
				   ::operator new(size, std::nothrow),
				   ::operator new[](size, std::nothrow),
				   ::operator new(size, align),
				   ::operator new[](size, align),
				   ::operator new(size, align, std::nothrow),
				   ::operator new[](size, align, std::nothrow) };

		for (int i = 0; i < 8; i++) {
			CHECK(block[i]);
			CHECK(reinterpret_cast<std::uintptr_t>(block[i]) % (size < 16 ? 8 : 16) == 0);
			CHECK(i < 4 || reinterpret_cast<std::uintptr_t>(block[i]) % static_cast<std::size_t>(align) == 0);
			pattern_fill(block[i], size);
		}
		for (int i = 0; i < 8; i++)
			CHECK(pattern_holds(block[i], size));
		if (round % 2) {
			::operator delete(block[0], size);
			::operator delete[](block[1], size);
			::operator delete(block[2], std::nothrow);
			::operator delete[](block[3], std::nothrow);
			::operator delete(block[4], size, align);
			::operator delete[](block[5], size, align);
			::operator delete(block[6], align, std::nothrow);
			::operator delete[](block[7], align, std::nothrow);
		} else {
			for (int i = 0; i < 4; i++)
				i % 2 ? ::operator delete[](block[i]) : ::operator delete(block[i]);
			for (int i = 4; i < 8; i++)
				i % 2 ? ::operator delete[](block[i], align) : ::operator delete(block[i], align);
		}
	}
	::operator delete(nullptr);
	::operator delete[](nullptr);
	::operator delete(nullptr, std::size_t(8));
	void *a = ::operator new(0), *b = ::operator new(0);
	CHECK(a && b && a != b);
	::operator delete(a);
	::operator delete(b);
}

void test_bad_alloc()
{
	auto align = static_cast<std::align_val_t>(64);

	CHECK(throws_bad_alloc([] { return ::operator new(absurd); }));
	CHECK(throws_bad_alloc([] { return ::operator new[](absurd); }));
	CHECK(throws_bad_alloc([=] { return ::operator new(absurd, align); }));
	CHECK(throws_bad_alloc([=] { return ::operator new[](absurd, align); }));
	CHECK(throws_bad_alloc([] { return ::operator new(absurd + absurd); }));
	CHECK(refused(::operator new(absurd, std::nothrow)));
	CHECK(refused(::operator new[](absurd, std::nothrow)));
	CHECK(refused(::operator new(absurd, align, std::nothrow)));
	CHECK(refused(::operator new[](absurd, align, std::nothrow)));
}

void test_handler()
{
	auto align = static_cast<std::align_val_t>(64);

	handled = 0;
	std::set_new_handler(give_up); // called until it takes itself away
	CHECK(throws_bad_alloc([] { return ::operator new(absurd); }));
	CHECK_EQ(handled, 3);
	handled = 0;
	std::set_new_handler(give_up);
	CHECK(refused(::operator new(absurd, std::nothrow)));
	CHECK_EQ(handled, 3);
	handled = 0;
	std::set_new_handler(give_up);
	CHECK(throws_bad_alloc([=] { return ::operator new[](absurd, align); }));
	CHECK_EQ(handled, 3);
	std::set_new_handler(handler_throws); // a throwing handler: nothrow swallows it
	handled = 0;
	CHECK(refused(::operator new(absurd, std::nothrow)));
	CHECK(refused(::operator new(absurd, align, std::nothrow)));
	CHECK(throws_bad_alloc([] { return ::operator new(absurd); }));
	CHECK_EQ(handled, 3);
	std::set_new_handler(nullptr);
}

void test_library(rng &random)
{
	std::map<std::string, std::unique_ptr<wide>> map;
	std::vector<std::string> keys;

	for (std::size_t i = 0; i < test_scaled(20000); i++) {
		std::string key(rng_below(&random, 200), 'k');

		key += std::to_string(rng_below(&random, 5000));
		keys.push_back(key);
		auto &slot = map[key];
		slot = std::make_unique<wide>();
		CHECK(reinterpret_cast<std::uintptr_t>(slot.get()) % 256 == 0);
		if (i % 3 == 0)
			map.erase(keys[rng_below(&random, keys.size())]);
	}
	std::sort(keys.begin(), keys.end());
	std::thread([moved = std::move(map)]() mutable { moved.clear(); }).join();
}

} // namespace

int main(int argc, char **argv)
{
	rng random = { test_seed(argc, argv) };

	test_forms(random);
	test_bad_alloc();
	test_handler();
	test_library(random);
	return 0;
}
