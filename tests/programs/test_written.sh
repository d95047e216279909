#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# Files and sockets that the library writes: whose rights they have, what a link, a pipe or a device in their place is to it, and
# who may not hang or end by it.
. "$(dirname "$0")/common.inc"
need perl cc timeout
for name in written served; do
	cc -w -O1 -pthread -I"$top/include" "$here/$name.c" -o "$work/$name" || { fail "$name.c does not compile"; finish; }
done
run() { # CONF COMMAND...
	conf=$1
	shift
	timeout -s KILL 20 env LD_PRELOAD="$lib" DRYSTONE_CONF="$conf" "$@" 2>"$work/err" >"$work/out" </dev/null
}

# Metrics are for others to read, profiles are not, and what an administrator has set stays.
(
	umask 022
	run "metrics:$work/new.prom,profile:4096,profile_file:$work/new.heap" true
)
[ "$(stat -c %a "$work/new.prom") $(stat -c %a "$work/new.heap")" = "644 600" ] ||
	fail "rights of new files: $(stat -c %a "$work/new.prom") $(stat -c %a "$work/new.heap")"
chmod 640 "$work/new.prom"
chmod 664 "$work/new.heap"
run "metrics:$work/new.prom,profile:4096,profile_file:$work/new.heap" true
[ "$(stat -c %a "$work/new.prom") $(stat -c %a "$work/new.heap")" = "640 664" ] ||
	fail "rights of old files: $(stat -c %a "$work/new.prom") $(stat -c %a "$work/new.heap")"

if [ "$(id -u)" = 0 ]; then # a group that may read it still may
	chown :1 "$work/new.prom"
	run "metrics:$work/new.prom" true
	[ "$(stat -c %a:%g "$work/new.prom")" = 640:1 ] || fail "group of an old file: $(stat -c %a:%g "$work/new.prom")"
fi

# A link, and a second name, stay; a link to nothing yet is followed.
ln -s later "$work/dangling"
run "profile:4096,profile_file:$work/dangling" true
grep -q '^heap profile' "$work/later" || fail "a link to a file that is not there yet"
echo old >"$work/target"
ln -s target "$work/link"
run "profile:4096,profile_file:$work/link" true
[ -L "$work/link" ] && grep -q '^heap profile' "$work/target" || fail "a link was replaced: $(ls -l "$work/link")"
echo old >"$work/one"
ln "$work/one" "$work/other"
run "profile:4096,profile_file:$work/one" true
cmp -s "$work/one" "$work/other" && grep -q '^heap profile' "$work/other" || fail "a second name has the old content"
[ "$(find "$work" -name '*.new-*' | wc -l)" = 0 ] || fail "left behind: $(find "$work" -name '*.new-*')"

# Standard output keeps what is in it, and stays a device's name.
run "profile:4096,profile_file:/dev/stdout" perl -e 'print "precious\n"'
[ "$(head -n 1 "$work/out")" = precious ] && grep -q '^heap profile' "$work/out" || fail "/dev/stdout: $(head -n 3 "$work/out")"
run "profile:4096,profile_file:/dev/fd/1" perl -e 'print "precious\n"'
[ "$(head -n 1 "$work/out")" = precious ] && grep -q '^heap profile' "$work/out" || fail "/dev/fd/1: $(head -n 3 "$work/out")"
[ -L /dev/stdout ] || {
	fail "/dev/stdout is a link no more"
	ln -sfn /proc/self/fd/1 /dev/stdout
}
run "profile:4096,profile_file:/dev/stdout" "$work/written" late
grep -q '^heap profile' "$work/out" && [ "$(tail -n 1 "$work/out")" = late ] || fail "/dev/stdout, written to later: $(tail -n 2 "$work/out")"

# Pipes: without a reader nobody waits, nor ends.
mkfifo "$work/pipe"
for conf in "metrics:$work/pipe" "profile:4096,profile_file:$work/pipe"; do
	run "$conf" true || fail "$conf, no reader: status $?"
done
timeout 10 head -c 10 "$work/pipe" >"$work/begin" &
reader=$!
run "profile:16,profile_file:$work/pipe" perl -e 'push @all, $_ x 50 for 1 .. 20000; select undef, undef, undef, 0.3' ||
	fail "a reader that left: status $?"
wait $reader || fail "a reader got nothing"
run "profile:16,profile_file:/dev/stdout" sh -c "exec \"$work/written\" long" || fail "a path that is too long is written to"
status=0
(LD_PRELOAD=$lib DRYSTONE_CONF=profile:16,profile_file:/dev/stdout perl -e 'select undef, undef, undef, 0.2; exit 7' 2>"$work/err" || echo $? >"$work/status") | true
[ "$(cat "$work/status")" = 7 ] || fail "/dev/stdout is a pipe without a reader: status $(cat "$work/status")"

# The mean that the file names is the one of the samples: of 16 bytes with 31 each 1 - e^(-16/31).
run "profile:31,profile_file:$work/rate" "$work/written" rate
taken=$(sed -n '1s/.*\[ *\([0-9]*\):.*/\1/p' "$work/rate")
[ "${taken:-0}" -gt 39300 ] && [ "$taken" -lt 41300 ] || fail "profile:31: $taken of 100,000 samples"

# Two that write one file at once: both succeed, and it is whole.
run "profile:64" "$work/written" two "$work/both" || fail "two writers: $? $(cat "$work/out" "$work/err")"
grep -q '^heap profile' "$work/both" && grep -q '^MAPPED_LIBRARIES:' "$work/both" && [ "$(grep -c '^heap profile' "$work/both")" = 1 ] ||
	fail "two writers: $(head -n 2 "$work/both")"

# exit() by a handler within an allocation: the process ends.
for conf in "leaks_file:$work/lost" stats:1 "metrics:$work/figures"; do
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		run "$conf" "$work/written" within || { fail "$conf, exit() by a handler: status $?"; break; }
	done
done

# A filter of the program's own that has not thought of sockets; the POSIX port knows of none.
case $lib in *posix*) ;; *)
	for conf in "metrics:unix:$work/filtered" "metrics:$work/filtered.txt,metrics_ms:60000"; do
		run "$conf" "$work/served" || fail "$conf, a filter: status $?"
	done ;;
esac

# A child that goes on alone has not got its parent's socket.
run "metrics:unix:$work/socket" "$work/served" "$work/socket"
for _ in $(seq 200); do [ -s "$work/out" ] && break || sleep 0.02; done
[ "$(cat "$work/out")" = refused ] || fail "a socket without its process: $(cat "$work/out")"
run "metrics:unix:$work/socket" true && [ ! -s "$work/err" ] || fail "the socket's name is not to be had again: $(cat "$work/err")"
finish
