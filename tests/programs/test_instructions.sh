#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# A hit costs at most 28 instructions in malloc, two of which fetch the next block, and at most 29 in free, two of which see
# a block that is freed twice in a row. Of both two look whether the thread is still on the CPU whose area it remembers.
#
# Callgrind counts each call by itself, so the result is the same on every run. Out of 250
# calls, after a warm-up of 100, the hit is the commonest cost; it must be that of at
# least 80 % of the calls. The rest are refills and their like; the mean, also shown,
# includes them. Taken off is what a function costs that only returns, but for that return.
# Valgrind has no rseq, so slots are per thread here; the code is the same. DRY_TEST_NO_NORSEQ: for that reason.
#
# Environment: BUILD, or DRYSTONE_LIB (then BUILD is its folder); CC. Exit status 0 or 1.
set -eu
cd "$(dirname "$0")/../.."
[ -z "${DRYSTONE_LIB:-}" ] || BUILD=${BUILD:-$(dirname "$DRYSTONE_LIB")}
build=$(cd "${BUILD:-build}" && pwd)
bar_alloc=28
bar_free=29
warm_up=100
calls=250
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "FAIL: $1" >&2
	exit 1
}

for tool in valgrind "${CC:-cc}"; do
	command -v "$tool" >/dev/null || fail "$tool is missing"
done
"${CC:-cc}" -std=gnu11 -O2 -fno-builtin -Iinclude bench/hit_loop.c -o "$work/hit_loop" \
	-L"$build" -ldrystone -Wl,-rpath,"$build" -ldl

# count KIND SIZE alloc|free: "HIT SHARE MEAN" of hit_alloc() or hit_free(), itself included:
# instructions of the commonest cost, percentage of calls with it, mean in hundredths
count() {
	rm -rf "$work/out"
	mkdir "$work/out"
	valgrind --tool=callgrind --callgrind-out-file="$work/out/call" \
		--toggle-collect="hit_$3" --dump-after="hit_$3" \
		"$work/hit_loop" "$1" "$2" $calls >"$work/log" 2>&1 || {
		cat "$work/log" >&2
		return 1
	}
	# One file a call, call.1 to call.250.
	i=$warm_up
	while [ $i -lt $calls ]; do
		i=$((i + 1))
		sed -n 's/^totals: *//p' "$work/out/call.$i"
	done | awk -v expected=$((calls - warm_up)) '
		{ times[$1]++; sum += $1 }
		END {
			if (NR != expected) exit 1
			for (cost in times) if (times[cost] > times[hit]) hit = cost
			printf "%d %d %d\n", hit, times[hit] * 100 / NR, sum * 100 / NR
		}'
}

# side KIND SIZE alloc|free: sets hit, share, mean of the allocator's own function
side() {
	# shellcheck disable=SC2046 # three numbers
	set -- $(count "$1" "$2" "$3" || echo failed) "$3"
	[ $# = 4 ] || fail "callgrind did not count every call"
	own=$own_alloc bar=$bar_alloc
	[ "$4" = alloc ] || own=$own_free bar=$bar_free
	hit=$(($1 - own)) share=$2 mean=$(($3 - own * 100))
	# Fewer than a look-up and a pop can need, or no common cost: the measurement is broken.
	[ "$hit" -ge 4 ] || fail "counted only $hit instructions"
	[ "$share" -ge 80 ] || fail "only $share % of the calls are hits"
}

# What hit_alloc() and hit_free() themselves take; an empty function's own return is not theirs.
own() {
	# shellcheck disable=SC2046 # three numbers
	set -- $(count empty 64 "$1" || echo failed)
	[ $# = 3 ] && [ "$2" = 100 ] || fail "callgrind did not count every call"
	echo $(($1 - 1))
}
own_alloc=$(own alloc)
own_free=$(own free)

status=0
row() { # row KIND SIZE: prints both sides; malloc and free are held to the bar
	line=$(printf '%-6s %5d bytes' "$1" "$2")
	for half in alloc free; do
		side "$1" "$2" $half
		line="$line  $half: $hit on a hit ($share % of calls, mean $((mean / 100)).$(printf %02d $((mean % 100))))"
		if [ "$1" = malloc ] && [ "$hit" -gt $bar ]; then
			line="$line EXCEEDED"
			status=1
		fi
	done
	echo "$line"
}
for size in 8 64 500 1024; do
	row malloc $size
done
row typed 64
# What is too big for an array is a run of pages, kept for the next one of its length; 1,500 and 1,200 instructions where a block was
# split down to it and merged again.
for half in alloc:400 free:300; do
	side malloc 40000 "${half%:*}"
	echo "run of pages, 40000 bytes  ${half%:*}: $hit"
	[ "$hit" -le "${half#*:}" ] || fail "${half%:*} of 40000 bytes takes more than ${half#*:} instructions"
done
if [ $status = 0 ]; then
	echo "ok: on a hit malloc takes at most $bar_alloc instructions, free $bar_free"
else
	echo "FAIL: on a hit malloc takes more than $bar_alloc instructions, or free more than $bar_free" >&2
fi
exit $status
