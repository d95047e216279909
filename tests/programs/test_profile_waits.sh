#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# drystone profile --seconds, and what happens meanwhile: to the process, by others who look at it, to the command.
# DRY_TEST_NO_NORSEQ, DRY_TEST_NO_POSIX: it is about the command.
. "$(dirname "$0")/common.inc"
need cc
chmod 755 "$work"
cp "$cli" "$work/drystone"
cp "$lib" "$work/libdrystone.so"
cc -O1 -fno-builtin -pthread "$here/steady.c" -o "$work/steady" || { fail "steady.c does not compile"; finish; }
other= # as whom, in words: shellcheck disable=SC2086
start() {
	: >"$work/said"
	$other env LD_PRELOAD="$work/libdrystone.so" "$work/steady" >"$work/said" &
	steady=$!
	children="$children $steady"
	for _ in $(seq 2000); do grep -q steady "$work/said" && return || sleep 0.02; done
	fail "steady did not start"
}
# watch NAME: it takes samples, and a command waits long, which ends the wait at SIGTERM; $NAME.out, $NAME.err
watch() {
	$other "$work/drystone" profile --seconds 100 --rate 1000 --all "$steady" >"$work/$1.out" 2>"$work/$1.err" &
	command=$!
	children="$children $command"
	for _ in $(seq 2000); do
		grep -q 'SigCgt:.*[4-7c-f]...$' /proc/$command/status && "$cli" profile "$steady" >"$work/one" 2>&1 && return
		sleep 0.02
	done
	fail "$1: no samples: $(cat "$work/$1.err")"
}
# ends STATUS NAME: the wait is ended
ends() {
	kill -TERM $command
	wait $command
	status=$?
	[ $status = "$1" ] || fail "$2: status $status: $(cat "$work/$2.err")"
}

# another that looks at it, too, ends the samples that it has asked for
start
watch first
first=$command
watch second
kill -TERM $first
wait $first && grep -q ' work$' "$work/first.out" && [ ! -s "$work/first.err" ] || fail "first: $? $(cat "$work/first.err")"
ends 0 second
grep -q ' work$' "$work/second.out" && grep -q ': note: who asked for the samples has ended them' "$work/second.err" ||
	fail "second: $(cat "$work/second.out" "$work/second.err")"
kill $steady

# who has logged out does not end the wait
start
other=nohup
watch unattended
other=
kill -HUP $command
sleep 0.3
kill -0 $command 2>/dev/null || fail "SIGHUP that was ignored ends the wait: $(cat "$work/unattended.err")"
ends 0 unattended
grep -q ' work$' "$work/unattended.out" || fail "unattended: $(cat "$work/unattended.out" "$work/unattended.err")"
kill $steady

# the process becomes another program
start
watch changed
kill -USR1 $steady
for _ in $(seq 2000); do grep -q sleep /proc/$steady/comm && break || sleep 0.02; done
ends 1 changed
grep -Eq "^drystone: profile: process $steady became another program after [0-9.]* s, its samples with it; " "$work/changed.err" &&
	[ "$(wc -l <"$work/changed.err")" = 1 ] || fail "it became another program: $(cat "$work/changed.err")"
kill $steady

# it may not be read any more
[ "$(id -u)" != 0 ] || other='setpriv --reuid 65534 --regid 65534 --clear-groups'
if $other true 2>"$work/err" && start && $other "$work/drystone" info "$steady" >"$work/out" 2>&1; then
	watch hidden
	kill -USR2 $steady
	for _ in $(seq 2000); do $other "$work/drystone" info "$steady" >"$work/out" 2>&1 && sleep 0.02 || break; done
	ends 1 hidden
	grep -q "^drystone: no permission to read process $steady: " "$work/hidden.err" || fail "it was hidden: $(cat "$work/hidden.err")"
else
	echo "note: no setpriv, or ptrace_scope; a process that may not be read any more was not tested"
fi
finish
