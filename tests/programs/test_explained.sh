#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# What `drystone info` shows of a process adds up to its memory, also while it takes samples.
# DRY_TEST_NO_NORSEQ, DRY_TEST_NO_POSIX: it is about the command.
. "$(dirname "$0")/common.inc"
need python3 perl sqlite3 cc c++
[ -r /proc/self/smaps ] && [ -r /proc/self/syscall ] || skip "the kernel does not tell of mappings and stacks"
python3 "$here/explained.py" "$cli" "$lib" "$work" >"$work/out" 2>"$work/err" || fail "$(cat "$work/out" "$work/err")"
cat "$work/out"
DRYSTONE_CONF=profile:65536 python3 "$here/explained.py" "$cli" "$lib" "$work" >"$work/out" 2>"$work/err" ||
	fail "while sampled: $(cat "$work/out" "$work/err")"
finish
