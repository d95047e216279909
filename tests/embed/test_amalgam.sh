#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# The one file that `make amalgam` writes: no warning from gcc, whatever a project asks for its own code; no word as its first lines
# say that it is compiled; not optimised, and at link time with override. With ALL=1 also by clang, not position-independent, over the POSIX port.
. "$(dirname "$0")/common.inc"
flags="-std=gnu11 -fvisibility=hidden -fno-strict-aliasing"
strict="-Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wcast-qual -Wundef -pedantic"
override="-DDRYSTONE_OVERRIDE -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free -fexceptions"
try() { # try NAME EXPECTED COMPILER FLAG...: compile in one command, run
	name=$1
	expect=$2
	shift 2
	# shellcheck disable=SC2086 # flags are words
	"$@" $flags $strict -Werror -I"$work" -o "$work/program" "$here/program.c" "$work/drystone.c" -lpthread \
		>"$work/log" 2>&1 || fail "$name"
	"$work/program" "$expect" >"$work/log" 2>&1 || fail "$name"
	echo "ok: $name"
}
"$root/scripts/amalgam" "$work" >/dev/null
"$root/scripts/amalgam" "$work/again" >/dev/null
cmp "$work/drystone.c" "$work/again/drystone.c" || fail "two runs write two files"
! grep -n "$root" "$work/drystone.c" || fail "a path of this machine is in it"
cc=${CC:-cc}
try "not optimised" library "$cc" -O0
says=$(sed -n 's/^ \*.*\tcc \(.*\) drystone\.c$/\1/p' "$work/drystone.c")
# shellcheck disable=SC2086 # flags are words
[ -n "$says" ] && "$cc" $says "$work/drystone.c" -o "$work/drystone.o" >"$work/log" 2>&1 && [ ! -s "$work/log" ] || fail "as its first lines say"
echo "ok: as its first lines say"
# What is replaced beside malloc is replaced with it only.
! nm "$work/program" | grep -E ' [TW] (malloc|prctl|mlockall|sigaction|fflush)$' || fail "replaced without DRYSTONE_OVERRIDE"
# shellcheck disable=SC2086 # flags are words
try "optimised at link time, with override" override "$cc" -O1 -flto $override
[ -n "${ALL:-}" ] || exit 0
try "not position-independent" library "$cc" -O1 -fno-pie -no-pie
if command -v clang >/dev/null; then
	# shellcheck disable=SC2086 # flags are words
	try "clang, with override" override clang -O1 $override
fi
"$root/scripts/amalgam" "$work" --port=posix >/dev/null
try "the POSIX port" library "$cc" -O1
