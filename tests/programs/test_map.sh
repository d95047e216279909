#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# drystone map: what is in its page is what `drystone info` says, of processes, at several times, and of core files.
# DRY_TEST_NO_NORSEQ: it is about the command.
. "$(dirname "$0")/common.inc"
need python3 cc
cc -O1 -fno-builtin -I "$top/include" "$here/mapped.c" -o "$work/mapped" "$lib" -Wl,-rpath,"$(dirname "$lib")" ||
	{ fail "mapped.c does not compile"; finish; }
# until FILE WORD: it says so
until_says() {
	for _ in $(seq 500); do
		grep -q "$2" "$1" 2>/dev/null && return
		sleep 0.02
	done
	fail "$1 does not say $2"
}
# info FILE: of a process at rest; its helper thread may have tidied up
info() {
	"$cli" info --json --all "$child" >"$1" || fail "info"
}
export DRYSTONE_CONF=background:0
mkfifo "$work/orders"
"$work/mapped" "$work/info.xml" <"$work/orders" >"$work/said" &
child=$!
children=$child
exec 3>"$work/orders"
until_says "$work/said" ready
info "$work/one"
# malloc_info() of the same, with a name that XML does not like
python3 - "$work/info.xml" "$work/one" <<'END' || fail "malloc_info: $(tail -n 5 "$work/info.xml")"
import json, sys
from xml.etree import ElementTree
root, info = ElementTree.parse(sys.argv[1]).getroot(), json.load(open(sys.argv[2], encoding="utf-8"))
caches = {e.get("name"): int(e.get("active")) for e in root.iter("cache")}
assert root.tag == "malloc" and caches["alpha"] == 8192 and caches["beta"] == 4096 and caches["<gamma>"] == 4096, caches
totals = {e.get("type"): int(e.get("size")) for e in root.iter("total")}
live = info["summary"]["allocated_bytes"]
assert 0.95 * live <= totals["live"] <= 1.05 * live and totals["mmap"] >= 8 << 20 and int(root.find("system").get("size")) >= totals["live"], (totals, live)
END
"$cli" map --html "$work/page.html" --snapshots 2 --interval 2 "$child" 2>"$work/err" &
map=$!
for _ in $(seq 500); do [ -e "$work/page.html.new-$map" ] && break || sleep 0.02; done # the first snapshot was taken
kill -STOP $map # however slow the machine is
kill -STOP "$child" && python3 "$here/make_core.py" "$child" "$work/core.1"
kill -CONT "$child"
echo >&3
until_says "$work/said" freed
kill -CONT $map
wait $map || fail "map: $?"
[ ! -s "$work/err" ] || fail "map says: $(cat "$work/err")"
info "$work/two"
python3 "$here/map_data.py" "$work/page.html" "$work/one" "$work/two" >"$work/out" 2>&1 || fail "two snapshots: $(tail -n 3 "$work/out")"
python3 "$here/map_data.py" "$work/page.html" "$work/two" "$work/two" >"$work/out" 2>&1 && fail "anything is accepted"

# core files: of them, what was resident is not known
kill -STOP "$child" && python3 "$here/make_core.py" "$child" "$work/core.2"
kill -CONT "$child"
"$cli" map --html "$work/cores.html" "$work/core.1" "$work/core.2" 2>"$work/err" || fail "cores: $(cat "$work/err")"
"$cli" info --json --all "$work/core.1" >"$work/one" && "$cli" info --json --all "$work/core.2" >"$work/two" || fail "info of cores"
python3 "$here/map_data.py" "$work/cores.html" "$work/one" "$work/two" >"$work/out" 2>&1 || fail "cores: $(tail -n 3 "$work/out")"
grep -q 'resident: true' "$work/cores.html" && fail "a core file knows what was resident"
echo >&3
wait "$child"

# a process that ends meanwhile
LD_PRELOAD=$lib sleep 2 &
child=$!
children=$child
for _ in $(seq 500); do "$cli" info $child >"$work/out" 2>&1 && break || sleep 0.02; done
"$cli" map -o "$work/short.html" -n 100 -i 0.2 $child 2>"$work/err" || fail "a process that ends: $?"
grep -q 'ended after [0-9]* of 100 snapshots' "$work/err" && grep -q '</html>' "$work/short.html" || fail "a process that ends: $(cat "$work/err")"

# one that ends while it is read: what was read then is no snapshot
if cc -O1 -fPIE -pie -rdynamic -I "$top/include" "$here/mock.c" -o "$work/mock"; then
	"$work/mock" ending >"$work/said" &
	child=$!
	children=$child
	until_says "$work/said" ready
	"$cli" map -o "$work/ending.html" -n 1000 -i 0.02 $child 2>"$work/err" &
	map=$!
	for _ in $(seq 500); do [ -e "$work/ending.html.new-$map" ] && break || sleep 0.02; done
	kill -USR1 $child
	wait $map || fail "a process that ends while it is read: $?"
	[ "$(wc -l <"$work/err")" = 1 ] && grep -q 'ended after [0-9]* of 1000 snapshots' "$work/err" ||
		fail "a process that ends while it is read: $(cat "$work/err")"
fi

# interrupted: what was taken is in the page. A child of this shell would ignore it.
LD_PRELOAD=$lib sleep 30 &
child=$!
children=$child
for _ in $(seq 500); do "$cli" info $child >"$work/out" 2>&1 && break || sleep 0.02; done
python3 - "$cli" map -o "$work/early.html" -n 100 -i 0.2 $child 2>"$work/err" <<'END' || fail "interrupted: $?: $(cat "$work/err")"
import signal, subprocess, sys, time
map = subprocess.Popen(sys.argv[1:], preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
time.sleep(1)
map.send_signal(signal.SIGINT)
sys.exit(map.wait())
END
grep -q 'interrupted after [0-9]* of 100 snapshots' "$work/err" && grep -q '</html>' "$work/early.html" || fail "interrupted: $(cat "$work/err")"
(trap '' INT && exec "$cli" map -o "$work/late.html" -n 4 -i 0.2 $child) 2>"$work/err" &
map=$!
for _ in $(seq 500); do [ -e "$work/late.html.new-$map" ] && break || sleep 0.02; done
kill -INT $map
wait $map && [ ! -s "$work/err" ] || fail "an interrupt that was ignored: $(cat "$work/err")"
kill $child

# what stands there stays until the new page is whole, keeps its rights, and is neither a device's nor a link's end
LD_PRELOAD=$lib sleep 30 &
sleep=$!
children="$children $sleep"
for _ in $(seq 500); do "$cli" info $sleep >"$work/out" 2>&1 && break || sleep 0.02; done
echo older >"$work/kept.html"
chmod 640 "$work/kept.html"
for signal in TERM HUP; do
	"$cli" map -o "$work/kept.html" -n 100 -i 0.2 $sleep &
	map=$!
	for _ in $(seq 500); do [ -e "$work/kept.html.new-$map" ] && break || sleep 0.02; done
	[ "$(cat "$work/kept.html")" = older ] || fail "an older page is gone before the new one is there"
	kill -$signal $map
	wait $map
	[ $? -gt 128 ] && [ "$(cat "$work/kept.html")" = older ] || fail "SIG$signal: the older page is gone"
	ls "$work"/kept.html.* >"$work/out" 2>&1 && fail "SIG$signal: a part of a page is left: $(cat "$work/out")"
done
"$cli" map -o "$work/kept.html" $sleep && grep -q '</html>' "$work/kept.html" || fail "an older page is not replaced"
[ "$(stat -c %a "$work/kept.html")" = 640 ] || fail "rights of an older page: $(stat -c %a "$work/kept.html")"
ln -s kept.html "$work/link.html"
echo older >"$work/kept.html"
"$cli" map -o "$work/link.html" $sleep && [ -L "$work/link.html" ] && grep -q '</html>' "$work/kept.html" || fail "a symbolic link"
"$cli" map -o /dev/stdout $sleep | grep -q '</html>' || fail "/dev/stdout, a pipe"
kill $sleep

for bad in '' '1' '-o x' '-o x nonsense' '-o x -n 0 1' '-o x -n 1001 1' '-o x -i 0 1' '-o x -i s 1' '--nonsense'; do
	# shellcheck disable=SC2086 # words
	(cd "$work" && "$cli" map $bad >out 2>err)
	[ $? = 2 ] && [ -s "$work/err" ] && [ ! -e "$work/x" ] || fail "map $bad"
done
"$cli" map -o "$work/x" 4194305 2>"$work/err"
[ $? = 1 ] && grep -q 'no process' "$work/err" && [ ! -e "$work/x" ] || fail "no process: $(cat "$work/err")"
LD_PRELOAD=$lib sleep 10 &
children=$!
for _ in $(seq 500); do "$cli" info $! >"$work/out" 2>&1 && break || sleep 0.02; done
"$cli" map -o /dev/full $! 2>"$work/err" && fail "a full disk went unnoticed"
grep -q '^drystone: cannot write /dev/full: No space left on device$' "$work/err" || fail "a full disk: $(cat "$work/err")"
"$cli" map -o "$work" $! 2>"$work/err"
[ $? = 1 ] && grep -q 'cannot write' "$work/err" || fail "a folder as the page: $(cat "$work/err")"
finish
