#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# What constructors of a program's other libraries allocate, which run before this library's own, has the protection that was asked
# for, too; and without any errors nothing is said.
. "$(dirname "$0")/common.inc"
need cc
cc -O1 -shared -fPIC -DLIBRARY "$here/early.c" -o "$work/libearly.so" &&
	cc -O0 "$here/early.c" -o "$work/early" -L"$work" -learly -Wl,-rpath,"$work" || fail "early.c does not compile"

# run CONF NUMBER ERROR: whether it ends as it should. The first block is one of each kind.
run() {
	LD_PRELOAD=$lib DRYSTONE_CONF=$1 FROM=$(($2 / 8 * 8)) "$work/early" "$2" "$3" >"$work/out" 2>&1
	status=$?
	if [ "$3" = none ]; then
		[ $status = 0 ] && [ ! -s "$work/out" ] || fail "$1, block $2: $status: $(head -n 2 "$work/out")"
	else
		[ $status -gt 128 ] && grep -q '^drystone: ' "$work/out" || fail "$1, block $2, $3: $status: $(head -n 2 "$work/out")"
	fi
}
for number in $(seq 0 23); do
	for conf in check:1 secure:1 debug:FZPU guard:1; do
		run $conf "$number" none
	done
	run check:1 "$number" twice
	for error in beyond freed twice; do
		run secure:1 "$number" $error
	done
	run debug:FZPU "$number" beyond
	run guard:1,guard_rate:1 "$number" twice
done

# A static program has an environment before its libc is ready for much.
for kind in -static -static-pie; do
	cc -O0 $kind -pthread "$here/early_static.c" "$(dirname "$lib")/libdrystone.a" -o "$work/static" 2>"$work/err" || {
		fail "$kind: $(head -n 3 "$work/err")"
		continue
	}
	for conf in abort:1 check:1 secure:1 guard:1,guard_rate:1 debug:FZPU; do
		DRYSTONE_CONF=$conf "$work/static" >"$work/out" 2>&1 || fail "$kind, $conf: $?: $(head -n 2 "$work/out")"
		DRYSTONE_CONF=$conf "$work/static" twice >"$work/out" 2>&1
		[ $? -gt 128 ] || fail "$kind, $conf: twice went on"
	done
done
finish
