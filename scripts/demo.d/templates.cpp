// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Many template instances, for the compiler to allocate: not for its result. INSTANCES: how many of use().
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

#ifndef INSTANCES
#define INSTANCES 4
#endif

template <int N> struct tag {
	int value[N + 1];
	bool operator<(const tag &other) const { return value[0] < other.value[0]; }
};

template <int N> struct chain {
	using inner = typename chain<N - 1>::type;
	using type = std::tuple<tag<N>, std::vector<inner>>;
};
template <> struct chain<0> {
	using type = std::tuple<tag<0>>;
};

template <int N> std::size_t use()
{
	std::map<std::string, std::vector<tag<N>>> by_name;
	std::unordered_map<int, std::shared_ptr<tag<N>>> by_number;
	std::set<tag<N>> ordered;
	std::variant<int, std::string, tag<N>> one;
	std::function<std::size_t(int)> call = [&](int n) { return by_name.size() + ordered.size() + std::size_t(n); };
	for (int i = 0; i < N; i++) {
		by_name[std::to_string(i)].push_back(tag<N>{});
		by_number.emplace(i, std::make_shared<tag<N>>());
		ordered.insert(tag<N>{ { i } });
	}
	one = tag<N>{};
	std::vector<std::pair<tag<N>, std::string>> list(10);
	std::stable_sort(list.begin(), list.end());
	return call(int(one.index())) + by_number.size() + list.size();
}

template <int... Ns> std::size_t use_all(std::integer_sequence<int, Ns...>)
{
	return (use<Ns>() + ...);
}

int main()
{
	typename chain<40>::type *deep = nullptr;
	std::regex expression("(a|b)*c[0-9]+");
	std::ostringstream out;
	out << use_all(std::make_integer_sequence<int, INSTANCES>()) << std::regex_match("abc1", expression) << (deep == nullptr);
	return int(out.str().size());
}
