#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# secure:1: where the region of guarded blocks is full of big ones that were freed, the search for a place looks at few of its
# pages, in instructions of dry_guard_alloc() for a block of 40 MB.
#
# Callgrind counts a run of 400 blocks and one of 600; the difference is the steady state.
# Valgrind has no rseq: DRY_TEST_NO_NORSEQ.
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
"${CC:-cc}" -std=gnu11 -O2 -fno-builtin tests/programs/rooms.c -o "$work/rooms"

# spent TIMES: instructions of all allocations
spent() {
	DRYSTONE_CONF=secure:1 LD_PRELOAD=$library valgrind --tool=callgrind --callgrind-out-file="$work/out" \
		--toggle-collect=dry_guard_alloc "$work/rooms" 40000000 "$1" 2>&1 | sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}

bar=2000000
few=$(spent 400) many=$(spent 600)
[ -n "$few" ] && [ -n "$many" ] && [ "$many" -gt "$few" ] || fail "callgrind did not count dry_guard_alloc"
each=$(((many - few) / 200))
echo "$each instructions a block, bar $bar"
[ $each -le $bar ] || fail "a place for a big block costs more than its bar"
