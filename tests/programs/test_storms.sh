#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# One storm of each kind over the programs of the demo; scripts/soak has them for as long as asked. The variants, whose
# difference is in the slots of threads, have that of the threads only.
. "$(dirname "$0")/common.inc"
need python3 sqlite3
only=
case ${GLIBC_TUNABLES:-}$lib in *rseq=0* | */posix/*) only="--only threads" ;; esac
# shellcheck disable=SC2086 # words
"$top/scripts/storms" --library "$lib" $only 0 >"$work/out" 2>&1 || fail "$(cat "$work/out")"
cat "$work/out"
! "$top/scripts/storms" --library "$work/none.so" --only exec 0 >"$work/out" 2>&1 ||
	fail "no library, and no word of it: $(cat "$work/out")"
finish
