#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# Probes: readelf lists them all, each with a semaphore in .probes; gdb stops at them, with the arguments that they promise.
# DRY_TEST_NO_NORSEQ
. "$(dirname "$0")/common.inc"
need readelf gdb cc
case $(uname -m) in x86_64 | aarch64) ;; *) skip "no probes on this processor" ;; esac
readelf -n "$lib" >"$work/notes" 2>"$work/err" || fail "readelf -n: $(cat "$work/err")"
[ -s "$work/err" ] && fail "readelf -n: $(cat "$work/err")"
awk '/Provider:/ { p = $2 } /Name:/ { n = $2 } /Semaphore:/ { print p ":" n, $NF }' "$work/notes" | sort -u >"$work/found"
for probe in $(sed -n 's/^| `\(.*\)` |.*/\1/p' "$top/docs/probes.md" | tr -d '`,'); do
	grep -q "^$probe 0x0*[1-9a-f]" "$work/found" || fail "$probe is not listed, or has no semaphore"
done
[ "$(sed 's/ .*//' "$work/found" | sort -u | wc -l)" = 9 ] || fail "listed: $(cat "$work/found")"
readelf -SW "$lib" | grep -q ' \.probes ' || fail "no section .probes"

cc -O1 -g -fno-builtin "$here/debugged.c" -o "$work/debugged" || { fail "debugged.c does not compile"; finish; }
# gdb raises the semaphores of probes with breakpoints. One block is freed: with a mean of 1 byte it is always sampled.
at() { # at PROBE CONDITION: stops there once, prints its arguments
	timeout 60 gdb -nx -batch -ex 'set environment DEBUGINFOD_URLS' -ex 'set startup-with-shell off' \
		-ex "set environment LD_PRELOAD $lib" -ex "set environment DRYSTONE_CONF profile:${mean:-64}" -ex 'break main' -ex run \
		-ex "break -probe-stap $1" -ex "condition 2 $2" -ex continue -ex 'printf "ARGUMENTS %d %#lx %ld %ld\n", $_probe_argc,
$_probe_arg0, '"$3" "$work/debugged" 2>&1
}
at otel_memory:alloc '$_probe_arg1 == 100000' '$_probe_arg1, $_probe_arg2' >"$work/out"
grep -Eq '^ARGUMENTS 3 0x[0-9a-f]+ 100000 102[0-9]{3}$' "$work/out" || fail "otel_memory:alloc: $(cat "$work/out")"
mean=1 at otel_memory:free '1 == 1' '1, 2' >"$work/out"
grep -Eq '^ARGUMENTS 1 0x[0-9a-f]+ 1 2$' "$work/out" || fail "otel_memory:free: $(cat "$work/out")"
at drystone:slab_made '1 == 1' '$_probe_arg1, $_probe_arg2' >"$work/out"
grep -Eq '^ARGUMENTS 3 0x[0-9a-f]+000 [0-9]*[1-9][0-9]* [0-9]+$' "$work/out" || fail "drystone:slab_made: $(cat "$work/out")"
finish
