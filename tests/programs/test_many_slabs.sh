#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# drystone info and drystone map of a process of 10^6 slabs: at most a second, and 8 bytes a slab. Under drystone info --watch and
# drystone top it loses little of its throughput (1 % at most is aimed at; many_slabs.py has what was measured).
# DRY_TEST_NO_NORSEQ, DRY_TEST_NO_POSIX: it is about the command.
. "$(dirname "$0")/common.inc"
need python3 cc
cc -O1 -fno-builtin -I "$top/include" "$here/many_slabs.c" -o "$work/many_slabs" "$lib" -Wl,-rpath,"$(dirname "$lib")" ||
	{ fail "many_slabs.c does not compile"; finish; }
slabs=1000000
[ "$(cat /proc/sys/vm/overcommit_memory)" != 2 ] || slabs=100000
python3 "$here/many_slabs.py" "$cli" "$work/many_slabs" $slabs >"$work/out" 2>&1 || fail "$(tail -n 3 "$work/out")"
cat "$work/out"
finish
