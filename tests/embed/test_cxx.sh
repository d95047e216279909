#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# drystone.hpp as C++17 with the library without malloc; with ALL=1 also C++20 and 23, clang, and the other libraries.
. "$(dirname "$0")/common.inc"
flags="-O1 -Wall -Wextra -Wshadow -Wconversion -pedantic -Werror -I$root/include"
try() { # try NAME COMPILER... LIBRARY
	name=$1
	shift
	# shellcheck disable=SC2086 # flags are words
	"$@" $flags "$here/cxx/program.cpp" "$library" -lpthread -Wl,-rpath,"$build" -o "$work/program"
	"$work/program" >"$work/log" 2>&1 || fail "$name: exit status $?"
	grep -q ok "$work/log" || fail "$name"
	echo "ok: $name"
}
library=$build/libdrystone-noverride.a
try "C++17" "${CXX:-c++}" -std=c++17
echo 'int main() { dry::heap h("h", 1 << 20); dry::resource r(h), s(h);
	return h.allocate(10) == nullptr || !r.is_equal(r) || r.is_equal(s); }' >"$work/plain.cpp"
"${CXX:-c++}" -std=c++17 -fno-exceptions -fno-rtti -Wall -Wextra -Werror -I"$root/include" -include drystone/drystone.hpp \
	"$work/plain.cpp" "$library" -o "$work/plain"
"$work/plain"
echo "ok: without exceptions and RTTI"
[ -n "${ALL:-}" ] || exit 0
library=$build/libdrystone.a
try "C++20, with override" "${CXX:-c++}" -std=c++20
library=$build/libdrystone.so
try "C++23, shared" "${CXX:-c++}" -std=c++23
try "clang, C++17" clang++ -std=c++17
