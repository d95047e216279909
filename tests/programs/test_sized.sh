#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# check:1: what `delete` with a size, which is all of today's C++, costs more than in the default profile, with its `new`, in callgrind's
# instructions: the class of a live block is told from its place.
# DRY_TEST_NO_NORSEQ: Valgrind has no rseq.
. "$(dirname "$0")/common.inc"
need valgrind c++
cat >"$work/pairs.cpp" <<'END'
#include <cstddef>
#include <cstdlib>
#include <new>
int main(int, char **argv)
{
	void *live[100] = {};
	for (int i = 0, n = std::atoi(argv[1]); i < n; i++) {
		std::size_t size = 16 + i % 100 * 8;
		if (live[i % 100])
			::operator delete(live[i % 100], size);
		live[i % 100] = ::operator new(size);
	}
}
END
c++ -O1 "$work/pairs.cpp" -o "$work/pairs" || { fail "pairs.cpp does not compile"; finish; }

# count CONF TIMES: instructions
count() {
	LD_PRELOAD=$lib DRYSTONE_CONF=annotate:0,background:0$1 valgrind --tool=callgrind --callgrind-out-file="$work/callgrind" \
		"$work/pairs" "$2" 2>&1 | sed -n 's/.*Collected : *//p'
}
# each CONF: instructions of a pair, when the program has begun
each() {
	few=$(count "$1" 10000) many=$(count "$1" 40000)
	echo $(((${many:-0} - ${few:-0}) / 30000))
}
usual=$(each '') checked=$(each ,check:1)
echo "a pair: $usual, under check:1 $checked instructions"
[ "$usual" -gt 20 ] || fail "pairs were not counted"
[ $((checked - usual)) -le 130 ] || fail "more than 130 instructions more for a pair"
finish
