#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# kmem.h beside another header that has the flags, in C from C99 on and in C++ from C++11 on, in two files of a program.
. "$(dirname "$0")/common.inc"
try() { # try STANDARD ORDER COMPILER LANGUAGE
	# shellcheck disable=SC2086 # a compiler may have options
	$3 -x "$4" -std="$1" -D"$2" -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -Wno-error=cpp -Wall -Wextra -Wshadow -Wconversion -pedantic -Werror -I"$root/include" \
		"$here/kmem/program.c" "$here/kmem/other.c" -x none "$build/libdrystone-noverride.a" -o "$work/program"
	"$work/program" >"$work/log" || fail "$*: exit status $?"
	grep -q ok "$work/log" || fail "$*"
	echo "ok: $*"
}
try c11 FIRST "${CC:-cc}" c
try c11 LAST "${CC:-cc}" c
try c99 NEITHER "${CC:-cc}" c
try c++11 FIRST "${CXX:-c++}" c++
try c++20 LAST "${CXX:-c++}" c++
[ -n "${ALL:-}" ] || exit 0
for standard in c11 c2x; do
	try $standard FIRST clang c
	try $standard LAST clang c
done
for standard in c++11 c++2b; do
	try $standard FIRST clang++ c++
	try $standard LAST "${CXX:-c++}" c++
done
