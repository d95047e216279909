#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# drystone run --fail: which allocations fail.
. "$(dirname "$0")/common.inc"
need "${CC:-cc}"
"${CC:-cc}" -O1 -fno-builtin -fno-omit-frame-pointer -rdynamic -Wl,--build-id "$top/tests/programs/guarded.c" -o "$work/guarded"
# fails WHICH LETTERS: of 20 allocations by turns of 200 and 60 bytes, each fourth by parse(), then a big one by parse()
fails() {
	got=$("$cli" run --library "$lib" --fail="$1" -- "$work/guarded" allocate 2>"$work/err") || fail "$1: $(cat "$work/err")"
	[ "$got" = "$2" ] || fail "--fail=$1: $got instead of $2"
}
fails nth=3 ..x..................
fails nth=1000 .....................
fails every=4 ...x...x...x...x...x.
fails every=1 xxxxxxxxxxxxxxxxxxxxx
fails every=2/cache=kmalloc-64 ...x...x...x...x...x.
fails nth=2/cache=kmalloc-208 ..x..................
fails cache=big ....................x
fails site=parse ...x...x...x...x...xx
fails site=parse/nth=2/say .......x.............
grep -q '^drystone: allocation 2 (kmalloc-64) fails on purpose$' "$work/err" || fail "say: $(cat "$work/err")"
grep -q ' parse+0x' "$work/err" || fail "no stack: $(cat "$work/err")"
# a place as the line has it, which ends with the file's build ID
place=$(sed -n 's/^  parse+0x[0-9a-f]* (\(guarded+0x[0-9a-f]*\) [0-9a-f]*)$/\1/p' "$work/err")
[ -n "$place" ] || fail "no place: $(cat "$work/err")"
fails "site=$place" ...x...x...x...x...xx
fails "site=${place%?}" .....................
fails site=main xxxxxxxxxxxxxxxxxxxxx
fails site=nowhere .....................
first=$("$cli" run --library "$lib" --fail=chance=300000/seed=3 -- "$work/guarded" allocate)
fails chance=300000/seed=3 "$first"
fails site=nowhere/seed=0 .....................
# nor does it come at a second try, where a limit has room
for which in nth=3 every=2; do
	got=$(LD_PRELOAD=$lib DRYSTONE_CONF=fail:$which,limit:1G "$work/guarded" allocate) || fail "$which, limit"
	case $which in nth=3) letters=..x.................. ;; *) letters=.x.x.x.x.x.x.x.x.x.x. ;; esac
	[ "$got" = $letters ] || fail "$which, limit: $got instead of $letters"
done
# nor where new that throws nothing has nobody to ask
if command -v c++ >/dev/null; then
	cat >"$work/nothrow.cc" <<'END'
#include <cstdio>
#include <new>
int main()
{
	char text[11] = "..........";
	for (char *at = text; *at != '\0'; at++) {
		int *number = new (std::nothrow) int;
		if (number == nullptr)
			*at = 'x';
		delete number;
	}
	std::puts(text);
}
END
	c++ -O0 "$work/nothrow.cc" -o "$work/nothrow" || fail "nothrow.cc does not compile"
	got=$(LD_PRELOAD=$lib DRYSTONE_CONF=fail:every=2 "$work/nothrow")
	case $got in .x.x.x.x.x | x.x.x.x.x.) ;; *) fail "nothrow: $got" ;; esac
fi
# what it cannot be is said by the library, and by the command before the program runs
long=$(printf '%0251d' 0)
for bad in nth=x nth=0 nth= every=-1 chance= seed= cache= site= says bogus nth=1/ /nth=1 nth=1234567890123456789 "site=$long" ''; do
	got=$(LD_PRELOAD=$lib DRYSTONE_CONF=fail:$bad "$work/guarded" allocate 2>"$work/err")
	case $bad in *=$long) what='too long' ;; *) what='bad value' ;; esac
	[ "$got" = ..................... ] && grep -q "^drystone: DRYSTONE_CONF: $what: fail:" "$work/err" || fail "$what: $got $(cat "$work/err")"
	"$cli" run --library "$lib" --fail="$bad" -- touch "$work/ran" 2>"$work/err"
	[ $? = 125 ] && [ ! -e "$work/ran" ] && grep -q '^drystone: run: --fail: ' "$work/err" || fail "--fail=$bad: $(cat "$work/err")"
done
# what goes without it, and without debugged caches, is warned of
for conf in check:1,fail:nth=1000000 secure:1,fail:nth=1000000 guard:1,debug:U secure:1,debug:Z/one check:1,debug:F; do
	other=${conf#*,}
	LD_PRELOAD=$lib DRYSTONE_CONF=$conf "$work/guarded" allocate >"$work/out" 2>"$work/err" &&
		[ "$(cat "$work/err")" = "drystone: ${conf%%:*} is off, because of ${other%%:*}:" ] || fail "$conf: $(cat "$work/err")"
done
for conf in check:1,secure:1 fail:nth=1000000,debug:Z check:1,secure:1,check:0,secure:0,debug:Z; do
	LD_PRELOAD=$lib DRYSTONE_CONF=$conf "$work/guarded" allocate >"$work/out" 2>"$work/err" && [ ! -s "$work/err" ] || fail "$conf: $(cat "$work/err")"
done
"$cli" run --library "$lib" --fail=nth=1,stats:1 -- true 2>/dev/null && fail "a comma was taken"

# what never matched is told when the process ends
unmatched() {
	"$cli" run --library "$lib" --fail="$1" -- "$work/guarded" allocate >"$work/out" 2>"$work/err"
	[ "$(cat "$work/err")" = "$2" ] || fail "--fail=$1: $(cat "$work/err") instead of $2"
}
unmatched site=nowhere/nth=1000 'drystone: fail: nothing matched site=nowhere'
unmatched site=pars/nth=1000 'drystone: fail: nothing matched site=pars'
unmatched cache=kmalloc-64/site=nowhere 'drystone: fail: nothing matched site=nowhere'
unmatched cache=kmalloc-63/site=parse 'drystone: fail: nothing matched cache=kmalloc-63'
unmatched site=parse/nth=1000 ''
unmatched cache=big/nth=1000 ''
unmatched nth=1000 ''

# functions by other names: clones of the compiler's, C++, long ones
if command -v "${CXX:-c++}" >/dev/null; then
	"${CXX:-c++}" -O1 -fno-builtin -o "$work/sites" "$top/tests/programs/sites.cpp" || fail "sites.cpp does not compile"
	# at SITE LETTERS: which of the program's functions the site is of, a letter each
	at() {
		got=$("$cli" run --library "$lib" --fail="site=$1" -- "$work/sites" 2>"$work/err") || fail "site=$1: $(cat "$work/err")"
		[ "$got" = "$2" ] || fail "site=$1: $got instead of $2: $(cat "$work/err")"
	}
	at cloned x...........
	at clone ............
	at cloned.constprop.0.isra.0 x...........
	at A::go .xx......... # in whatever namespace
	at 'A::go(int)' .xx.........
	at ::A::go ............
	at _ZN1A2goEi .x..........
	at B::A::go ..x.........
	at 'B::A::go(char const*)' ..x.........
	at go .xxxx.......
	at C::go ...x........
	at 'C<int>::go(int)' ...x........
	at B::A::A .....x......
	at B::A::~A ......x.....
	at A .....x......
	at B ............
	at hidden .......x....
	at of .........x..
	at 'B::of<int>' .........x..
	at named ..........x.
	at "$(printf 'b%.0s' $(seq 200))" ...........x
	at "$(printf 'b%.0s' $(seq 199))" ............
fi
"$cli" run --library "$lib" --fail='site=f(int, int)' -- true 2>"$work/err" && fail "a comma was taken"
grep -q 'without its arguments' "$work/err" || fail "comma: $(cat "$work/err")"
finish
