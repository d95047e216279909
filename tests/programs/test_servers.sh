#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# A login through sshd, whose child before authentication is filtered, and nginx: in each profile (scripts/check-programs).
# DRY_TEST_NO_POSIX: that port knows no filters. DRY_TEST_NO_NORSEQ: tests/malloc/test_filters.c has that.
. "$(dirname "$0")/common.inc"
need python3
DRYSTONE_LIB=$lib "$top/scripts/check-programs" sshd nginx >"$work/log" 2>&1 || fail "$(cat "$work/log")"
cat "$work/log"
grep -q '^passed' "$work/log" || [ $failures != 0 ] || skip "neither can be run here"
finish
