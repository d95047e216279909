#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# Blocks that another family frees than allocated them: one report each under debug: and secure:1, none where it may be right.
# DRY_TEST_NO_NORSEQ: it is about the slow paths.
. "$(dirname "$0")/common.inc"
need "${CXX:-c++}"
ulimit -c 0
build() { # build NAME FLAG...
	name=$1
	shift
	"${CXX:-c++}" -std=c++17 -O1 -w -fno-builtin "$here/mismatch.cpp" -o "$work/$name" "$@" 2>"$work/err"
}
# run CONF NAME ARGUMENT...: status in $status, its words in $work/out
run() {
	conf=$1 program=$2
	shift 2
	status=$( (LD_PRELOAD=$lib DRYSTONE_CONF=$conf "$work/$program" "$@" >"$work/out" 2>&1; echo $?) 2>/dev/null)
}
right() { # right NAME WHAT: nothing is reported, whatever is looked at
	for conf in abort:1 debug:FZPUQ debug:P secure:1 guard:1,guard_rate:1 check:1; do
		run $conf "$1" right 24
		[ "$status" = 0 ] && [ "$(cat "$work/out")" = "went on" ] || fail "$2, $conf: status $status: $(cat "$work/out")"
	done
}

build program || fail "does not compile: $(cat "$work/err")"
right program "as it should be"
for conf in debug:FZPU debug:Q secure:1; do
	# debug: keeps no records of big blocks
	case $conf in debug:FZPU) sizes="8 3000" ;; debug:Q) sizes=40 ;; *) sizes="8 3000 100000" ;; esac
	for size in $sizes; do
		number=0
		for what in "new, freed by free" "new\[\], freed by free" "malloc, freed by delete" "malloc, freed by delete\[\]" \
			"new\[\], freed by delete" "new, freed by delete\[\]" "new, freed by realloc" "malloc, freed by delete" \
			"new, freed by delete\[\]" "new, freed by delete\[\]" "malloc, freed by delete"; do
			number=$((number + 1))
			run $conf program $number $size
			[ "$status" = 134 ] || fail "case $number, $size bytes, $conf: status $status"
			head -n 1 "$work/out" | grep -qE "^drystone: freed by another family than it was allocated by: 0x[0-9a-f]+(, cache [a-z0-9-]+)?: allocated by $what\$" ||
				fail "case $number, $size bytes, $conf: $(head -n 1 "$work/out")"
		done
	done
done
# One report, and it goes on where it shall.
run secure:1,abort:0 program 5 40
[ "$status" = 0 ] && [ "$(grep -c '^drystone: ' "$work/out")" = 1 ] && grep -q "^went on" "$work/out" || fail "abort:0: $(cat "$work/out")"
for number in 12 13; do
	for conf in secure:1 debug:FZPU; do
		run $conf,abort:0 program $number 40
		[ "$status" = 0 ] && [ "$(grep -c '^drystone: ' "$work/out")" = 1 ] &&
			grep -q "^drystone: wrong size on sized free" "$work/out" || fail "case $number, $conf: $(cat "$work/out")"
	done
done
run debug:FZPU program 5 40
grep -q "^ *Allocated [0-9]* ms ago" "$work/out" || fail "no stack of the allocation: $(cat "$work/out")"
# Nothing is kept elsewhere.
for conf in abort:1 check:1 debug:P debug:FZPU/other; do
	run $conf program 5 40
	[ "$status" = 0 ] || fail "$conf: $(cat "$work/out")"
done

# A program's own operators.
build replaced -DREPLACED && right replaced "operators of the program's" || fail "own operators: $(cat "$work/err")"
build array -DREPLACED_ARRAY && right array "a delete[] of the program's" || fail "own delete[]: $(cat "$work/err")"
# Forms that throw nothing and go by malloc().
build nothrow -DNOTHROW && right nothrow "nothrow forms of the program's" || fail "own nothrow: $(cat "$work/err")"
build libold.so -DLIBRARY -DNOTHROW -shared -fPIC && build old -L"$work" -Wl,--no-as-needed -lold -Wl,-rpath,"$work" &&
	right old "an old C++ library" || fail "an old library: $(cat "$work/err")"
# Operators that are hidden in the program, or in a library, and those that are not.
if build libmake.so -DLIBRARY -shared -fPIC && build cross -DCROSS -static-libstdc++ -L"$work" -lmake -Wl,-rpath,"$work" &&
	! nm -D "$work/cross" | grep -q " U _Znwm"; then
	right cross "hidden in the program"
	build libmake.so -DLIBRARY -shared -fPIC -static-libstdc++ -Wl,--exclude-libs,ALL && build cross -DCROSS -L"$work" -lmake -Wl,-rpath,"$work" &&
		right cross "hidden in a library"
	mkdir "$work/libc++" && mv "$work/libmake.so" "$work/libc++" && build cross -DCROSS -L"$work/libc++" -lmake -Wl,-rpath,"$work/libc++" &&
		right cross "hidden in a library of a folder that is called as the C++ library"
else
	echo "without libstdc++.a: hidden operators are not looked at"
fi
finish
