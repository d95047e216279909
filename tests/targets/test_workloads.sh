#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# test_workloads.sh BUILD: the programs that measure the small-machine allocators (bench/tiny), on the host and
# at a small size: they run on each, their results are possible ones, and they fail where they must.
set -eu
build=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
bench=$root/bench/tiny
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
failed=0

fail() {
	echo "FAILED: $*"
	failed=1
}
value() { # value NAME: of a line "NAME VALUE"
	sed -n "s/^$1 //p" "$out/log"
}

for allocator in tiny sequential; do
	library=$build/libdrystone-$allocator.a
	[ -e "$library" ] || continue
	for program in messaging boot fit wcet; do
		case $program in
		messaging | boot) more=$bench/workload.c ;;
		*) more= ;;
		esac
		[ "$program" != wcet ] || [ "$(uname -m)" = x86_64 ] || continue
		# shellcheck disable=SC2086 # no word, or one
		${CC:-cc} -std=gnu11 -O1 -Wall -Wextra -Werror -I "$root/include" -I "$bench/host" \
			-DSUBJECT_NAME="\"$allocator\"" "$bench/$program.c" $more "$bench/subject_drystone.c" "$library" \
			-o "$out/$program" || fail "$program over $allocator does not compile"
	done
	busy=$bench/data/caches-linux-6.1-x86-slab-nomerge.csv
	fresh=$bench/data/caches-linux-6.1-uml-slab-nomerge.csv

	"$out/messaging" "$busy" 10 >"$out/log" || fail "$allocator: messaging"
	# no less than the objects and the messages that waited
	least=$(($(value resident_kb) + $(value queued_kb)))
	[ "$(value touched_kb)" -ge "$least" ] || fail "$allocator: messaging touched less than it held"
	[ "$(value touched_kb)" -lt 32000 ] || fail "$allocator: messaging touched the whole pool"
	! "$out/messaging" "$busy" 10 0 0 6000 >"$out/log" 2>&1 || fail "$allocator: 7.6 MB of objects in 6 MB"
	! "$out/messaging" /dev/null 10 >"$out/log" 2>&1 || fail "$allocator: a table that is none"

	"$out/boot" "$fresh" 3000 >"$out/log" || fail "$allocator: boot"
	[ "$(value touched_kb)" -ge "$(value objects_kb)" ] || fail "$allocator: boot touched less than its objects"
	! "$out/boot" "$fresh" 1500 >"$out/log" || fail "$allocator: 1.6 MB of objects in 1.5 MB"

	for size in 16 24 48 100 128; do
		for how in typed blocks; do
			"$out/fit" $how $size >"$out/log" || fail "$allocator: fit $how $size"
			fit=$(value fit)
			[ "$((fit * size))" -le 65536 ] || fail "$allocator: more than fits: $fit of $size bytes"
			[ "$fit" -gt "$((65536 / 3 / size))" ] || fail "$allocator: few fit: $fit $how of $size bytes"
		done
	done

	[ -x "$out/wcet" ] || continue
	"$out/wcet" exhaust 4096 1 >"$out/log" || fail "$allocator: wcet"
	grep -q "^x86-64,$allocator,4096,exhaust,get,[1-9][0-9]*,[1-9][0-9]*,[0-9]*,[0-9]*,[0-9]*\$" "$out/log" ||
		fail "$allocator: wcet printed: $(cat "$out/log")"
	awk -F, '$7 > $8 || $8 > $9 || $9 > $10 { exit 1 }' "$out/log" || fail "$allocator: percentiles do not rise"
done
exit $failed
