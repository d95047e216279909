#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# Beside another preloaded library whose calls on files lock and allocate, in either order: programs run to their end.
# DRY_TEST_NO_POSIX: that port has no other calls.
. "$(dirname "$0")/common.inc"
need "${CC:-cc}" timeout
"${CC:-cc}" -O1 -fno-builtin -fPIC -shared -pthread "$here/locked.c" -o "$work/locked.so" -ldl || fail "locked.c does not compile"
for conf in decay_ms:1000 check:1 secure:1 guard:1,guard_rate:3 profile:1000 debug:FZPU; do
	for preload in "$lib:$work/locked.so" "$work/locked.so:$lib"; do
		timeout 20 env LD_PRELOAD="$preload" DRYSTONE_CONF=$conf cat /etc/passwd >"$work/out" 2>"$work/err" ||
			fail "$conf, $preload: status $?: $(cat "$work/err")"
		cmp -s "$work/out" /etc/passwd || fail "$conf, $preload: another output"
	done
done
finish
