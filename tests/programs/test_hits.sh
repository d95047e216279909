#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# In the demo programs at least 99 % of allocations never reach a slow path; outputs are the same.
# DRY_TEST_NO_NORSEQ: the POSIX port has the same arrays per thread.
. "$(dirname "$0")/common.inc"
# The helper thread empties arrays that rest for a while, and on a loaded machine a while is soon over.
export DRYSTONE_CONF=background:0
need python3 sqlite3 redis-server redis-benchmark g++
python3 "$top/scripts/demo" --check --build "$(dirname "$cli")" --library "$lib" >"$work/log" 2>&1 || {
	fail "the demo failed"
	cat "$work/log" >&2
}
grep ' %$' "$work/log"
[ "$(grep -c ' %$' "$work/log")" = 4 ] || fail "not all four programs were measured"
finish
