#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# The archives for small machines: any call of libdrystone-X-check makes reports text, if it is linked before libdrystone-X.
. "$(dirname "$0")/common.inc"
cc="${CC:-cc} -O1 -Wall -Wextra -Werror -Wno-cast-function-type -Wno-use-after-free -I$root/include"
${CC:-cc} -Werror -Wno-use-after-free -x c -c /dev/null -o /dev/null 2>/dev/null || cc="$cc -Wno-unknown-warning-option"
freed_twice() { # ALLOCATOR LINE-OR-NOTHING FLAG...
	archives="$build/libdrystone-$1-check.a $build/libdrystone-$1.a"
	expected=$2
	shift 2
	# shellcheck disable=SC2086 # flags and archives are words
	$cc "$@" "$here/tiny/twice.c" $archives -o "$work/twice"
	status=0
	"$work/twice" >"$work/log" || status=$?
	[ $status = 3 ] || fail "$*: exit status $status"
	if [ -n "$expected" ]; then
		grep -q "^drystone: $expected" "$work/log" || fail "$*: no report"
	else
		[ ! -s "$work/log" ] || fail "$*: a report, and nothing asked for it"
	fi
	echo "ok: $archives $*"
}
calls="dry_heap_check dry_cache_check dry_heap_slabinfo dry_heap_for_each_cache dry_heap_owners dry_version dry_cache_zalloc_bulk
dry_cache_alloc_node"
for allocator in tiny sequential; do
	freed_twice $allocator ""
	for call in $calls; do
		freed_twice $allocator "double free: 0x" "-DREFERS=$call"
	done
done
freed_twice tiny "double free: 0x" -DREFERS=dry_heap_min_pool
