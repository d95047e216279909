#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# Guarded blocks: the line of a report, its three stacks, the fault's course afterwards; sampling.
. "$(dirname "$0")/common.inc"
need "${CC:-cc}"
"${CC:-cc}" -O1 -fno-builtin -fno-omit-frame-pointer -fno-optimize-sibling-calls -rdynamic \
	"$top/tests/programs/guarded.c" -o "$work/guarded"
# report WHAT STATUS FIRST-LINE STACK...: with every allocation guarded
report() {
	what=$1 wanted=$2 line=$3
	shift 3
	(ulimit -c 0; LD_PRELOAD=$lib DRYSTONE_CONF=guard:1,guard_rate:1 exec "$work/guarded" "$what") 2>"$work/err"
	status=$?
	[ $status = "$wanted" ] || fail "$what: status $status: $(cat "$work/err")"
	head -n 1 "$work/err" | grep -qE "^drystone: $line\$" || fail "$what: $(cat "$work/err")"
	for stack in "$@"; do
		tr '\n' ' ' <"$work/err" | grep -qE "$stack" || fail "$what: no $stack in: $(cat "$work/err")"
	done
}
report after 139 'use after free: 0x[0-9a-f]+: write, 5 bytes into a freed block of 4096 bytes' \
	'access by thread [0-9]+   touch\+0x[0-9a-f]+ \(guarded\+0x[0-9a-f]+( [0-9a-f]{16})?\)' \
	'allocated by thread [0-9]+   parse\+[^ ]+ \([^)]+\)   make\+[^ ]+ \([^)]+\)   main\+' 'freed by thread [0-9]+   drop\+[^ ]+ \([^)]+\)   main\+'
report beyond 139 'access out of bounds: 0x[0-9a-f]+: write, 0 bytes after a block of 4096 bytes' 'access by .* touch\+' 'allocated by .* make\+'
grep -q '^freed' "$work/err" && fail "a live block was freed"
report twice 134 'double free: 0x[0-9a-f]+: 0 bytes into a freed block of 4096 bytes' 'call by .* drop\+' 'allocated by .* make\+' 'freed by .* drop\+'

# a handler of the program's has the fault, whenever it was set
(ulimit -c 0; LD_PRELOAD=$lib DRYSTONE_CONF=guard:1,guard_rate:1 exec "$work/guarded" handled) 2>"$work/err"
[ $? = 7 ] || fail "the program's handler did not run"

# without the option nothing is guarded; with it a sample is, and a run of many goes well
for conf in guard:0 guard:1 guard:1,guard_rate:100 secure:1; do
	LD_PRELOAD=$lib DRYSTONE_CONF=$conf "$work/guarded" busy || fail "$conf: busy failed"
done
finish
