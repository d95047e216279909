#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# Objects whose constructor makes them point to themselves, used by code that is optimised: by the build's compiler and clang.
. "$(dirname "$0")/common.inc"
try() { # try COMPILER OPTION
	"$1" "$2" -std=c11 -Wall -Wextra -Werror -I"$root/include" "$here/constructed/program.c" "$build/libdrystone-noverride.a" \
		-lpthread -o "$work/program"
	"$work/program" >"$work/log" 2>&1 || fail "$*: exit status $?"
	echo "ok: $*"
}
for compiler in "${CC:-cc}" clang; do
	command -v "$compiler" >/dev/null || continue
	try "$compiler" -O2
	try "$compiler" -O3
done
