#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# What constructors of a program's other libraries allocate, which run before this library's own, has the protection that was asked
# for, too; and without any errors nothing is said.
. "$(dirname "$0")/common.inc"
need cc
cc -O1 -shared -fPIC -DLIBRARY "$here/early.c" -o "$work/libearly.so" &&
	cc -O0 "$here/early.c" -o "$work/early" -L"$work" -learly -Wl,-rpath,"$work" || fail "early.c does not compile"

# run CONF NUMBER ERROR: whether it ends as it should
run() {
	LD_PRELOAD=$lib DRYSTONE_CONF=$1 "$work/early" "$2" "$3" >"$work/out" 2>&1
	status=$?
	if [ "$3" = none ]; then
		[ $status = 0 ] && [ ! -s "$work/out" ] || fail "$1, block $2: $status: $(head -n 2 "$work/out")"
	else
		[ $status -gt 128 ] || fail "$1, block $2, $3: went on ($status)"
	fi
}
for number in 0 1 2 3 4 5 6 7; do
	for conf in check:1 secure:1 debug:FZPU guard:1; do
		run $conf $number none
	done
	run check:1 $number twice
	for error in beyond freed twice; do
		run secure:1 $number $error
	done
	run debug:FZPU $number beyond
done
finish
