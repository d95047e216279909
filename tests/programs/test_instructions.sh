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

# count KIND SIZE: counts each call of hit_alloc() and of hit_free(), in turn, in one run; a part of $work/calls is of one call
count() {
	rm -f "$work"/calls*
	valgrind --tool=callgrind --callgrind-out-file="$work/calls" --combine-dumps=yes --toggle-collect='hit_*' \
		--dump-after=hit_alloc --dump-after=hit_free "$work/hit_loop" "$1" "$2" $calls >"$work/log" 2>&1 || {
		cat "$work/log" >&2
		fail "callgrind does not run"
	}
}

# cost alloc|free: "HIT SHARE MEAN" of hit_alloc() or hit_free() in what was counted last, itself included:
# instructions of the commonest cost, percentage of calls with it, mean in hundredths
cost() {
	awk -v wanted="--dump-after=hit_$1" -v warm_up=$warm_up -v expected=$((calls - warm_up)) '
		/^desc: Trigger:/ { trigger = $3 }
		/^totals:/ && trigger == wanted && ++n > warm_up { times[$2]++; sum += $2 }
		END {
			n -= warm_up
			if (n != expected) exit 1
			for (cost in times) if (times[cost] > times[hit]) hit = cost
			printf "%d %d %d\n", hit, times[hit] * 100 / n, sum * 100 / n
		}' "$work/calls"
}

# side alloc|free: sets hit, share, mean of the allocator's own function, of what was counted last
side() {
	# shellcheck disable=SC2046 # three numbers
	set -- $(cost "$1" || echo failed) "$1"
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
	set -- $(cost "$1" || echo failed)
	[ $# = 3 ] && [ "$2" = 100 ] || fail "callgrind did not count every call"
	echo $(($1 - 1))
}
count empty 64
own_alloc=$(own alloc)
own_free=$(own free)

status=0
row() { # row KIND SIZE: prints both sides; malloc and free are held to the bar
	line=$(printf '%-6s %5d bytes' "$1" "$2")
	count "$1" "$2"
	for half in alloc free; do
		side $half
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
count malloc 40000
for half in alloc:400 free:300; do
	side "${half%:*}"
	echo "run of pages, 40000 bytes  ${half%:*}: $hit"
	[ "$hit" -le "${half#*:}" ] || fail "${half%:*} of 40000 bytes takes more than ${half#*:} instructions"
done
if [ $status = 0 ]; then
	echo "ok: on a hit malloc takes at most $bar_alloc instructions, free $bar_free"
else
	echo "FAIL: on a hit malloc takes more than $bar_alloc instructions, or free more than $bar_free" >&2
fi
exit $status
