#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# libdrystone-noverride, which is not told of filters to come, nor of what needs one thread: it gives memory back in its calls,
# beside threads, too, without a thread or a fence of its own.
# DRY_TEST_NO_NORSEQ: nothing in it depends on restartable sequences. DRY_TEST_NO_POSIX: that one is built without such a copy.
. "$(dirname "$0")/common.inc"
need cc
folder=$(dirname "$lib")
for link in "-L$folder -ldrystone-noverride -Wl,-rpath,$folder" "$folder/libdrystone-noverride.a"; do
	cc -O1 -g -D_GNU_SOURCE -I"$top/include" "$here/apart.c" -o "$work/apart" $link -pthread || fail "apart.c does not compile"
	DRYSTONE_CONF=decay_ms:200 "$work/apart" 2>"$work/err"
	status=$?
	[ $status = 0 ] || fail "$link: status $status: $(cat "$work/err")"
done
finish
