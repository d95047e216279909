// SPDX-License-Identifier: MIT OR GPL-2.0-only
// For the compiler to work on: -DCOUNT=n instances of templates over containers. Never run.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

template <int N> struct item {
	int key[N % 7 + 1];
	std::string name;
	bool operator<(const item &other) const
	{
		return key[0] < other.key[0];
	}
};

template <int N> int work(int seed)
{
	std::map<int, std::vector<item<N>>> index;
	auto add = [&](int n) {
		item<N> one{};

		one.key[0] = n * N;
		one.name = std::to_string(n);
		index[n % 10].push_back(one);
	};

	for (int i = 0; i < seed; i++)
		add(i);
	for (auto &entry : index)
		std::sort(entry.second.begin(), entry.second.end());
	return static_cast<int>(index.size());
}

template <int N> struct all {
	static int run(int seed)
	{
		return work<N>(seed) + all<N - 1>::run(seed);
	}
};
template <> struct all<0> {
	static int run(int)
	{
		return 0;
	}
};

int main(int argc, char **)
{
	return all<COUNT>::run(argc);
}
