#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# A hit costs at most 25 instructions in malloc and at most 25 in free.
#
# Counted by callgrind, so the same on every run: a loop of N pairs and one of 2N;
# the difference, divided by N, less the same of a pair of functions that only return
# (that return is put back). Start, first slabs and exit fall out. Valgrind has no
# rseq, so this is the code over a per-thread slot; the sequence over a per-CPU
# slot differs by a few instructions.
#
# test_instructions.sh; environment: BUILD (default: build), CC. Exit status 0 or 1.
set -eu
cd "$(dirname "$0")/../.."
build=$(cd "${BUILD:-build}" && pwd)
bar=25
count=4000
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for tool in valgrind "${CC:-cc}"; do
	command -v "$tool" >/dev/null || {
		echo "FAIL: $tool is missing" >&2
		exit 1
	}
done
"${CC:-cc}" -std=gnu11 -O2 -fno-builtin -Iinclude bench/hit_loop.c -o "$work/hit_loop" \
	-L"$build" -ldrystone -Wl,-rpath,"$build" -ldl

# collected KIND SIZE COUNT alloc|free: instructions inside hit_alloc() or hit_free()
collected() {
	valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect="hit_$4" \
		"$work/hit_loop" "$1" "$2" "$3" >"$work/log" 2>&1 || {
		cat "$work/log" >&2
		return 1
	}
	sed -n 's/.*Collected *: *\([0-9]*\).*/\1/p' "$work/log"
}

# cost KIND SIZE alloc|free: instructions of one call, in hundredths
cost() {
	once=$(collected "$1" "$2" $count "$3")
	twice=$(collected "$1" "$2" $((2 * count)) "$3")
	[ -n "$once" ] && [ -n "$twice" ] && [ "$once" -gt 0 ] || return 1
	echo $(((twice - once) * 100 / count))
}

show() { printf '%d.%02d' $(($1 / 100)) $(($1 % 100)); }

fail() {
	echo "FAIL: $1" >&2
	exit 1
}

base_alloc=$(cost empty 64 alloc) || fail "callgrind counted nothing"
base_free=$(cost empty 64 free) || fail "callgrind counted nothing"

status=0
# row KIND SIZE: prints the two costs; for malloc they are held to the bar
row() {
	alloc=$(cost "$1" "$2" alloc) || fail "callgrind counted nothing"
	release=$(cost "$1" "$2" free) || fail "callgrind counted nothing"
	alloc=$((alloc - base_alloc + 100))
	release=$((release - base_free + 100))
	verdict=
	if [ "$1" = malloc ]; then
		verdict="  bar $bar: ok"
		if [ "$alloc" -gt $((bar * 100)) ] || [ "$release" -gt $((bar * 100)) ]; then
			verdict="  bar $bar: EXCEEDED"
			status=1
		fi
		# Fewer than a look-up and a pop can need: the measurement is broken.
		[ "$alloc" -ge 400 ] && [ "$release" -ge 400 ] || fail "$1 $2 counted as $alloc and $release hundredths"
	fi
	printf '%-6s %5d bytes: alloc %6s  free %6s instructions%s\n' \
		"$1" "$2" "$(show "$alloc")" "$(show "$release")" "$verdict"
}

for size in 8 64 500 1024; do
	row malloc $size
done
row typed 64
if [ $status = 0 ]; then echo "ok: a hit is within $bar instructions"; else echo "FAIL: a hit takes more than $bar instructions" >&2; fi
exit $status
