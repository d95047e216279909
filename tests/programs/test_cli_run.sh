#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# drystone run: exit status, signals, options, environment, messages.
. "$(dirname "$0")/common.inc"
# expect STATUS COMMAND...: it ends with this status; output in $work/out, messages in $work/err
expect() {
	wanted=$1
	shift
	"$@" >"$work/out" 2>"$work/err"
	status=$?
	[ $status = "$wanted" ] || fail "status $status instead of $wanted: $*: $(cat "$work/err")"
}
said() { grep -q -- "$1" "$work/err" || fail "no \"$1\" in: $(cat "$work/err")"; }
printed() { grep -q -- "$1" "$work/out" || fail "no \"$1\" in: $(cat "$work/out")"; }
run() {
	wanted=$1
	shift
	expect "$wanted" "$cli" run --library "$lib" "$@"
}

run 0 -- true
run 0 true
for status in 1 2 77 255; do run $status -- sh -c "exit $status"; done
run 143 -- sh -c 'kill -TERM $$'
run 0 -- sh -c 'echo "$@"' name --stats -x -- y
printed '^--stats -x -- y$'
run 0 -- grep libdrystone /proc/self/maps
printed libdrystone

# the program has the id of the command: a signal to it reaches the program
"$cli" run --library "$lib" -- sh -c 'trap "exit 42" USR1; echo ready; while :; do sleep 0.05; done' >"$work/out" &
child=$!
children=$child
for _ in $(seq 2000); do grep -q ready "$work/out" && break; sleep 0.05; done
kill -USR1 $child
wait $child
[ $? = 42 ] || fail "SIGUSR1 did not reach the program"
children=

# and where it is a child, what comes for the command alone, or from the terminal for all, is the program's; nothing it says is lost
if command -v python3 >/dev/null; then
	cat >"$work/signals.py" <<'END'
import os, signal, subprocess, sys
# with COMMAND...: of a program that says its id and waits for a signal, which it names on standard error
command = sys.argv[1:]
program = """trap 'trap "" INT TERM HUP; echo INT >&2; exit 41' INT
trap 'trap "" INT TERM HUP; echo TERM >&2; exit 42' TERM
trap 'trap "" INT TERM HUP; echo HUP >&2; exit 43' HUP
echo $$; n=0; while [ $n -lt 500 ]; do sleep 0.05; n=$((n + 1)); done"""
ending = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
for name, send, status in (("TERM", os.kill, 42), ("HUP", os.kill, 43), ("TERM", os.killpg, 42), ("INT", os.killpg, 41)):
    run = subprocess.Popen(command + ["sh", "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           start_new_session=True, preexec_fn=lambda: [signal.signal(s, signal.SIG_DFL) for s in ending])
    child = int(run.stdout.readline())
    assert child != run.pid
    send(run.pid, getattr(signal, "SIG" + name))
    said = run.communicate(timeout=20)[1]
    assert name in said.split("\n") and run.returncode == status, (name, send, run.returncode, said)
# one that was told to live on does
run = subprocess.Popen(command + ["sh", "-c", "echo; sleep 0.3; echo here >&2; exit 9"], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True, start_new_session=True,
                       preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
run.stdout.readline()
os.killpg(run.pid, signal.SIGHUP)
said = run.communicate(timeout=20)[1]
assert "here" in said.split("\n") and run.returncode == 9, (run.returncode, said)
# where ended children are forgotten, as who started the command wants it, the status is there, and the program finds that as it was
program = "import signal, sys; sys.exit(9 if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN else 8)"
status = subprocess.call(command + [sys.executable, "-c", program],
                         preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
assert status == 9, status
END
	for way in --symbolize "--profile $work/signals.txt"; do
		# shellcheck disable=SC2086 # words
		timeout 90 python3 "$work/signals.py" "$cli" run --library "$lib" $way -- 2>"$work/err" ||
			fail "signals, $way: $(tail -n 1 "$work/err")"
	done
fi

# what cannot be run
run 127 -- "$work/nothing"
said 'cannot run .*nothing: No such file'
run 127 -- no-such-program-anywhere
echo text >"$work/plain"
chmod 644 "$work/plain"
run 126 -- "$work/plain"
said 'Permission denied'
expect 125 "$cli" run
said 'which program'
expect 125 "$cli" run --unknown true
said "unrecognized option '--unknown'"
expect 125 "$cli" run --library "$work/nothing.so" true
said 'cannot read the library'
for other in "$work" "$0"; do
	expect 125 "$cli" run --library "$other" true
	said 'is no library of this machine'
done
mkdir "$work/a b"
cp "$lib" "$work/a b/libdrystone.so"
expect 125 "$cli" run --library "$work/a b/libdrystone.so" true
said 'space or colon'
expect 125 "$cli" run --conf

# environment
run 0 --conf abort:0 -- sh -c 'echo "$DRYSTONE_CONF"'
printed '^abort:0$'
DRYSTONE_CONF=decay_ms:100
export DRYSTONE_CONF
run 0 --conf abort:0 --stats -- sh -c 'echo "$DRYSTONE_CONF"'
printed '^decay_ms:100,abort:0,stats:1$'
unset DRYSTONE_CONF
LD_PRELOAD=$lib "$cli" run --library "$lib" -- sh -c 'echo "$LD_PRELOAD"' >"$work/out"
[ "$(cat "$work/out")" = "$lib:$lib" ] || [ "$(cat "$work/out")" = "$(realpath "$lib"):$lib" ] ||
	fail "LD_PRELOAD was not kept: $(cat "$work/out")"
run 0 -- sh -c 'echo "$PYTHONMALLOC"'
printed '^malloc$'
PYTHONMALLOC=pymalloc "$cli" run --library "$lib" -- sh -c 'echo "$PYTHONMALLOC"' >"$work/out"
printed '^pymalloc$'

# the library next to the command, and in ../lib of it
for place in bin lib; do
	rm -rf "$work/tree"
	mkdir -p "$work/tree/bin" "$work/tree/lib"
	cp "$cli" "$work/tree/bin/drystone"
	expect 125 "$work/tree/bin/drystone" run true
	said 'name it by --library'
	cp "$lib" "$work/tree/$place/libdrystone.so"
	expect 0 "$work/tree/bin/drystone" run grep -c "$work/tree/$place/libdrystone.so" /proc/self/maps
done

# --stats: the listing at the program's exit, and then the totals
if command -v perl >/dev/null; then
	run 3 --stats -- perl -e 'my @l = map { "x" x $_ } 1 .. 2000; exit 3'
	grep -v '^# drystone: ' "$work/err" | python3 "$here/slabinfo.py" --expect kmalloc-32 >/dev/null 2>"$work/why" ||
		fail "--stats: $(cat "$work/why")"
	tail -n 1 "$work/err" | grep -Eq '^# drystone: allocs [0-9]+ slow_allocs [0-9]+ slow_frees [0-9]+ hits [0-9]+\.[0-9]{2}%$' ||
		fail "--stats: totals: $(tail -n 1 "$work/err")"
fi

# a program that does not load it runs all the same, after a warning
if head -c 4 /sbin/ldconfig 2>/dev/null | grep -q ELF; then
	run 0 -- /sbin/ldconfig --version
	said '/sbin/ldconfig is linked statically'
fi
printf '#include <stdlib.h>\nint main(void) { free(malloc(9)); return 7; }\n' >"$work/static.c"
if "${CC:-cc}" -fno-builtin -static "$work/static.c" -o "$work/static" 2>/dev/null; then
	run 7 -- "$work/static"
	said 'static is linked statically and keeps the malloc that it is linked with'
	if [ -f "$BUILD/libdrystone.a" ]; then
		"${CC:-cc}" -fno-builtin -static "$work/static.c" "$BUILD/libdrystone.a" -o "$work/static" || fail "not linked"
		run 7 -- "$work/static"
		said 'static is linked statically, with a drystone of its own'
	fi
fi
if [ "$(id -u)" != 0 ] && [ -u /bin/su ]; then
	run 0 -- su --version
	said 'su runs with other rights'
fi
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && command -v python3 >/dev/null; then
	cp "$(command -v grep)" "$work/capable"
	if python3 -c 'import os, struct, sys
os.setxattr(sys.argv[1], "security.capability", struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0))' "$work/capable" 2>/dev/null; then
		run 0 -- "$work/capable" libdrystone /proc/self/maps
		printed libdrystone # to root it is a program like others
		[ ! -s "$work/err" ] || fail "a warning about capabilities that root has: $(cat "$work/err")"
		cp "$cli" "$work/drystone"
		cp "$lib" "$work/libdrystone.so"
		chmod 755 "$work" "$work/drystone"
		expect 0 setpriv --reuid 65534 --regid 65534 --clear-groups "$work/drystone" run -- "$work/capable" --version
		said 'capable runs with other rights than yours (file capabilities)'
	fi
fi
run 0 -- true
[ ! -s "$work/err" ] || fail "a warning about true: $(cat "$work/err")"

# the command itself
expect 0 "$cli" --help
printed '^Usage: drystone run'
expect 0 "$cli" --version
printed '^drystone [0-9]*\.[0-9]*\.[0-9]*$'
expect 0 "$cli" run --help
printed -- '--library PATH'
expect 0 "$cli" info --help
expect 2 "$cli"
expect 2 "$cli" nonsense
said 'no command "nonsense"'
finish
