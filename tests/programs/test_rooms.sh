#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# secure:1: where the region of guarded blocks is full of big ones that were freed, the search for a place looks at few of its
# pages, in instructions of dry_guard_alloc() for a block of 40 MB.
# DRY_TEST_NO_NORSEQ: Valgrind has no rseq.
. "$(dirname "$0")/common.inc"
need valgrind cc
cc -O2 -fno-builtin "$here/rooms.c" -o "$work/rooms" || { fail "rooms.c does not compile"; finish; }

# spent TIMES: instructions of all allocations; of two runs the difference is the steady state
spent() {
	DRYSTONE_CONF=secure:1 LD_PRELOAD=$lib valgrind --tool=callgrind --callgrind-out-file="$work/out" \
		--toggle-collect=dry_guard_alloc "$work/rooms" 40000000 "$1" 2>&1 | sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}
few=$(spent 400) many=$(spent 600)
each=$(((${many:-0} - ${few:-0}) / 200))
echo "$each instructions a block"
[ $each -gt 0 ] || fail "dry_guard_alloc() was not counted"
[ $each -le 2000000 ] || fail "a place for a big block takes more than 2 million instructions"
finish
