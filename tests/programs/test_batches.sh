#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# What a refill and a flush cost for each object, in instructions of dry_alloc_slow() and dry_free_slow() with all they call:
# of a population that fits into shared arrays, and of one that goes to slabs.
#
# Callgrind counts a run of 2 rounds and one of 10 (400,000 blocks: of 1 and 3); the difference is the steady state.
# Valgrind has no rseq, so slots are per thread here; the code is the same. DRY_TEST_NO_NORSEQ: for that reason.
# DRY_TEST_NO_POSIX: the bars are of the sequences of x86-64; those in C copy one object at a time.
#
# Environment: BUILD, or DRYSTONE_LIB (then BUILD is its folder); CC. Exit status 0 or 1.
set -eu
cd "$(dirname "$0")/../.."
[ -z "${DRYSTONE_LIB:-}" ] || BUILD=${BUILD:-$(dirname "$DRYSTONE_LIB")}
library=${DRYSTONE_LIB:-$(cd "${BUILD:-build}" && pwd)/libdrystone.so}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "FAIL: $1" >&2
	exit 1
}

command -v valgrind >/dev/null || fail "valgrind is missing"
"${CC:-cc}" -std=gnu11 -O2 -fno-builtin tests/programs/runs.c -o "$work/runs"

# spent FUNCTION COUNT ROUNDS: its instructions
spent() {
	LD_PRELOAD=$library valgrind --tool=callgrind --callgrind-out-file="$work/out" --toggle-collect="$1" \
		"$work/runs" "$2" "$3" 2>&1 | sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}

status=0
# row FUNCTION COUNT FEW MANY BAR: tenths of instructions an object, against the bar
row() {
	few=$(spent "$1" "$2" "$3") many=$(spent "$1" "$2" "$4")
	[ -n "$few" ] && [ -n "$many" ] && [ "$many" -gt "$few" ] || fail "callgrind did not count $1"
	each=$(((many - few) * 10 / ($2 * ($4 - $3))))
	line="$1, $2 blocks: $((each / 10)).$((each % 10)) instructions an object, bar $5"
	if [ $each -gt $(($5 * 10)) ]; then
		line="$line EXCEEDED"
		status=1
	fi
	echo "$line"
}
row dry_alloc_slow 20000 2 10 6
row dry_free_slow 20000 2 10 10
row dry_alloc_slow 400000 1 3 12
row dry_free_slow 400000 1 3 16
[ $status = 0 ] || echo "FAIL: a batch costs more than its bar" >&2
exit $status
