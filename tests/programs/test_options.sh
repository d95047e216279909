#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# DRYSTONE_CONF: what is said of options, in one line each.
. "$(dirname "$0")/common.inc"
need perl
# says OPTIONS LINE...: with these options a program says these lines and nothing else
says() {
	conf=$1
	shift
	LD_PRELOAD=$lib DRYSTONE_CONF=$conf sleep 0 2>"$work/err" || fail "$conf: status $?"
	for line; do echo "drystone: $line"; done | cmp -s - "$work/err" || fail "$conf: $(cat "$work/err")"
}

# a bad value: what would be a good one
while read -r option values; do
	says "$option" "DRYSTONE_CONF: bad value: $option ($values)"
done <<'END'
abort:yes 0 or 1
stats:2 0 or 1
zero: 0 or 1
decay_ms:9 10 to 3600000
decay_ms:3600001 10 to 3600000
profile_signal:65 1 to 64
guard_rate:1e3 1 to 1000000000
limit:512MB bytes, perhaps with K, M or G; 1% to 100%; or 0
limit:101% bytes, perhaps with K, M or G; 1% to 100%; or 0
numa:on local, interleave or off
tags:1 never, sync or async
thp:on system, never, always or auto
debug:X letters of FZPUTQ, perhaps with /cache or /cach*; 16 times
fail:often nth=N every=N chance=N seed=N cache=NAME site=FUNCTION say, with slashes between them
log: a path
metrics: a path
END
says nothing:1 'DRYSTONE_CONF: unknown option: nothing:1 (drystone(7) has them)'
says abort 'DRYSTONE_CONF: no value: abort (name:value is expected)'
says abort:0,abort:2,decay_ms:1 'DRYSTONE_CONF: bad value: abort:2 (0 or 1)' 'DRYSTONE_CONF: bad value: decay_ms:1 (10 to 3600000)'
# each that such a line names is one
for option in limit:100 limit:64K limit:64k limit:64M limit:1G limit:0 numa:local numa:interleave numa:off tags:never tags:sync \
	tags:async thp:system thp:never thp:always thp:auto debug:FZPUQ/kmalloc-64 'debug:F/kmalloc*' decay_ms:10 decay_ms:3600000; do
	LD_PRELOAD=$lib DRYSTONE_CONF=$option sleep 0 2>"$work/err" # which may fail within 100 bytes
	grep -q DRYSTONE_CONF "$work/err" && fail "$option: $(cat "$work/err")"
done
# a path of 255 bytes is one, longer ones are not cut
long=$(printf '%0254d' 0)
for option in log metrics profile_file leaks_file; do
	LD_PRELOAD=$lib DRYSTONE_CONF="$option:/$long" sleep 0 2>"$work/err"
	grep -q DRYSTONE_CONF "$work/err" && fail "$option, 255: $(cat "$work/err")"
	says "$option:/1$long" "DRYSTONE_CONF: too long: $(printf '%.63s' "$option:/1$long") (255 bytes at most)"
done

# what is off, and because of which other one
says check:1,secure:1,guard:1,debug:F 'check is off, because of debug:' 'guard is off, because of debug:' 'secure is off, because of debug:'
says secure:1,debug:F,fail:nth=1000000 'secure is off, because of fail:'
case $lib in */posix/*) ;; *) # which has no search for lost blocks
	says check:1,guard:1,leaks_file:$work/lost 'check is off, because of leaks_file:' 'guard is off, because of leaks_file:' ;;
esac
says secure:1,leaks_file:$work/lost 'leaks_file: not together with debug, fail, secure or a memory checker, and not without memory'
# what needs another one
says leaks:1 'leaks: without debug:U only caches that the program itself debugs are listed'
says leaks:1,debug:Z 'leaks: without debug:U only caches that the program itself debugs are listed'
says leaks:1,debug:U/nobody,debug:F 'leaks: there was no cache of the name that debug: has with the letter U'
says profile_file:$work/none 'profile_file: nothing is written without profile:'
[ ! -e "$work/none" ] || fail "profile_file without profile: written"
says profile_signal:9 'profile_signal: no program can handle signal 9'
says profile_signal:32 'profile_signal: no program can handle signal 32'
says profile_signal:10 'profile_signal: nothing is written without profile:'
says profile:1000,profile_signal:10
# a signal that has nothing to write ends nobody
for conf in profile_signal:10 profile_signal:10,profile:1000,secure:1 profile_signal:10,profile_file:$work/none; do
	LD_PRELOAD=$lib DRYSTONE_CONF=$conf perl -e 'kill 10, $$; @l = map { "x" x $_ } 1 .. 2000; print "lives\n"' >"$work/out" 2>"$work/err"
	[ "$(cat "$work/out")" = lives ] || fail "$conf: signal 10: $(cat "$work/out" "$work/err")"
	[ ! -e "$work/none" ] || fail "$conf: written"
done

# a relative path is taken from where the process begins, wherever it goes
mkdir "$work/begin" "$work/other"
away='chdir shift; @l = map { "x" x $_ } 1 .. 2000'
for conf in log:rel,stats:1 profile:1000,profile_file:./rel leaks_file:rel metrics:rel; do
	(cd "$work/begin" && LD_PRELOAD=$lib DRYSTONE_CONF=$conf perl -e "$away" "$work/other") 2>"$work/err"
	case $conf in leaks_file*) supported=$(grep -c 'no search' "$work/err") ;; *) supported=0 ;; esac
	[ "$supported" = 1 ] || [ -s "$work/begin/rel" ] || fail "$conf: not where it began: $(cat "$work/err")"
	[ ! -e "$work/other/rel" ] || fail "$conf: where it ended"
	rm -f "$work/begin/rel"
done
(cd "$work/begin" && LD_PRELOAD=$lib DRYSTONE_CONF=metrics:unix:rel perl -e "-S 'rel' or die 'none'; $away" "$work/other") 2>"$work/err" ||
	fail "metrics:unix: $(cat "$work/err")"
[ ! -e "$work/begin/rel" ] || fail "the socket stays"
says metrics:unix: 'metrics: no such socket can be made: unix:'
# where what it would be from the root is too long, it stays relative
deep=$work/$(printf '%0200d' 0)
mkdir "$deep"
long=$(printf '%0200d' 0)
(cd "$deep" && LD_PRELOAD=$lib DRYSTONE_CONF=stats:1,log:$long perl -e "$away" "$work/other") && [ -s "$work/other/$long" ] ||
	fail "a long path: $(ls "$deep" "$work/other")"
(cd "$deep" && LD_PRELOAD=$lib DRYSTONE_CONF=metrics:unix:rel perl -e "-S 'rel' or die 'none'") 2>"$work/err" || fail "deep: $(cat "$work/err")"
(cd / && LD_PRELOAD=$lib DRYSTONE_CONF="stats:1,log:${work#/}/rel" perl -e "$away" "$work/other") && [ -s "$work/rel" ] || fail "from the root"
finish
