// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Patterns in C++, a program of its own: the C++ library allocates when it starts.
//
//   objects  5000 places for each thread with objects of 56 to 200 bytes, each with a string; a random one is
//            replaced. They are deleted through a virtual destructor, with their size. Beside them arrays by operator
//            new and sized operator delete.
//   maps     ordered and hashed maps from words to lists of numbers: words come, are looked up and go. 8000 words.
//
// An operation is one object, or one step on a map.
#include "suite.h"

#include <map>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

namespace
{

struct shape {
	std::string name;
	uint32_t mark;
	explicit shape(uint32_t m) : name(m % 40, 'a'), mark(m)
	{
	}
	virtual ~shape()
	{
		if (name.size() != mark % 40)
			suite_damaged(this);
	}
};

template <size_t Words> struct sized : shape {
	uint64_t words[Words];
	explicit sized(uint32_t m) : shape(m)
	{
		words[0] = m;
		words[Words - 1] = m;
	}
	~sized() override
	{
		if (words[0] != mark || words[Words - 1] != mark)
			suite_damaged(this);
	}
};

std::unique_ptr<shape> make(uint32_t r)
{
	switch (r >> 29) {
	case 0:
		return std::make_unique<sized<1>>(r);
	case 1:
		return std::make_unique<sized<2>>(r);
	case 2:
		return std::make_unique<sized<4>>(r);
	case 3:
		return std::make_unique<sized<6>>(r);
	case 4:
		return std::make_unique<sized<9>>(r);
	case 5:
		return std::make_unique<sized<12>>(r);
	case 6:
		return std::make_unique<sized<16>>(r);
	default:
		return std::make_unique<sized<19>>(r);
	}
}

constexpr size_t places = 5000, arrays = 64;

void objects(suite_worker *w)
{
	std::vector<std::unique_ptr<shape>> table(places);
	suite_block *array[arrays] = {};

	w->ops = suite_share(w->suite, 4e6);
	for (size_t i = 0; i < w->ops; i++) {
		uint32_t r = bench_random(&w->random), at = r % arrays;
		size_t size = 16 + (r >> 8) % 2000;

		table[r % places] = make(r);
		w->check += r;
		if (i % 4 != 0)
			continue;
		if (array[at] != nullptr)
			::operator delete(array[at], suite_unmark(array[at]));
		array[at] = suite_mark(::operator new(size), size);
	}
	for (suite_block *block : array)
		if (block != nullptr)
			::operator delete(block, suite_unmark(block));
}

std::string word(uint32_t n)
{
	static const char syllable[] = "bacedifogu";
	std::string text;

	for (uint32_t left = n * 2654435761u; left != 0; left /= 7)
		text.append(syllable + left % 5 * 2, 2);
	return text;
}

constexpr uint32_t words = 8000;

template <class Map> void step(suite_worker *w, Map &map, uint32_t r)
{
	std::string key = word(r % words);

	if (r >> 30 == 0) {
		auto found = map.find(key);

		if (found == map.end())
			return;
		for (uint32_t n : found->second)
			w->check += n;
		map.erase(found);
	} else {
		map[std::move(key)].push_back(r);
	}
}

void maps(suite_worker *w)
{
	std::map<std::string, std::vector<uint32_t>> ordered;
	std::unordered_map<std::string, std::vector<uint32_t>> hashed;

	w->ops = suite_share(w->suite, 1e6);
	for (size_t i = 0; i < w->ops; i++) {
		uint32_t r = bench_random(&w->random);

		if (i % 2 == 0)
			step(w, ordered, r);
		else
			step(w, hashed, r);
	}
}

void pattern_objects(suite *suite)
{
	suite_threads(suite, objects);
}

void pattern_maps(suite *suite)
{
	suite_threads(suite, maps);
}

} // namespace

int main(int argc, char **argv)
{
	static const suite_pattern patterns[] = {
		{ "objects", pattern_objects },
		{ "maps", pattern_maps },
		{ nullptr, nullptr },
	};

	return suite_main(argc, argv, patterns);
}
