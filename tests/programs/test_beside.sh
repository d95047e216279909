#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# A program that links libdrystone-noverride, as archive or as shared library, under the preloaded library: leaks, profile, metrics
# and `drystone info` are of the copy that serves malloc(), and the other one writes over nothing.
# DRY_TEST_NO_NORSEQ: nothing in it depends on restartable sequences. DRY_TEST_NO_POSIX: that one is built without such a copy.
. "$(dirname "$0")/common.inc"
need cc
folder=$(dirname "$lib")
cc -O1 -g -I"$top/include" "$here/beside.c" -o "$work/shared" -L"$folder" -ldrystone-noverride -Wl,-rpath,"$folder" &&
	cc -O1 -g -I"$top/include" "$here/beside.c" "$folder/libdrystone-noverride.a" -pthread -o "$work/archive" ||
	fail "beside.c does not compile"

for program in shared archive; do
	"$cli" run --library "$lib" --leaks -- "$work/$program" 2>"$work/err"
	[ $? = 23 ] && grep -q "bytes in \(9[0-9]\|100\) blocks" "$work/err" || fail "$program: --leaks: $(head -n 3 "$work/err")"
	"$cli" run --library "$lib" --profile "$work/profile" -- "$work/$program" 2>"$work/err"
	bytes=$(sed -n 's/^\([0-9]*\) bytes in .*/\1/p' "$work/profile")
	[ "${bytes:-0}" -gt 3000000 ] || fail "$program: --profile: $(head -n 1 "$work/profile" "$work/err")"
	LD_PRELOAD=$lib DRYSTONE_CONF=metrics:$work/metrics "$work/$program"
	bytes=$(sed -n 's/^drystone_allocated_bytes \([0-9]*\)/\1/p' "$work/metrics")
	[ "${bytes:-0}" -gt 9000000 ] || fail "$program: metrics: $(grep allocated "$work/metrics")"
	mkfifo "$work/end"
	LD_PRELOAD=$lib "$work/$program" wait <"$work/end" >"$work/said" &
	child=$!
	children="$children $child"
	exec 9>"$work/end"
	for _ in $(seq 100); do grep -q ready "$work/said" && break || sleep 0.1; done
	"$cli" info $child >"$work/out" 2>&1
	grep -q "100 big blocks" "$work/out" || fail "$program: info: $(head -n 1 "$work/out")"
	exec 9>&-
	wait $child
	rm "$work/end"
done
finish
