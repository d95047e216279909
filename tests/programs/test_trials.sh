#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# Every way to look inside, on programs at work: redis, python3, C++ with 8 threads, node. What is printed, other people's tools read:
# promtool, slabtop, pprof, an XML parser, gdb, a browser's data by map_data.py. The programs come to their end as they should.
# DRY_TEST_NO_NORSEQ, DRY_TEST_NO_POSIX: it is about the command.
. "$(dirname "$0")/common.inc"
need python3 c++
debugger=$(command -v gdb) promtool=$(command -v promtool) slabtop=$(command -v slabtop)
pprof=$(command -v pprof || { go tool pprof -help >/dev/null 2>&1 && echo go tool pprof; })
for tool in "gdb:$debugger" "promtool:$promtool" "slabtop:$slabtop" "pprof:$pprof"; do
	[ -n "${tool#*:}" ] || echo "note: no ${tool%%:*}: not tried"
done
export DEBUGINFOD_URLS= PPROF_TMPDIR="$work"

check_metrics() { # check_metrics FILE WHAT
	python3 "$here/openmetrics.py" <"$1" >"$work/count" 2>&1 || fail "$2: $(cat "$work/count")"
}
check_older() { # check_older FILE WHAT
	[ -n "$promtool" ] || return
	"$promtool" check metrics <"$1" >"$work/lint" 2>&1 && [ ! -s "$work/lint" ] || fail "$2: promtool: $(head -n 5 "$work/lint")"
}
# look NAME ID FUNCTION: all of it, while it is at work
look() {
	name=$1 pid=$2
	"$cli" info "$pid" >"$work/out" 2>"$work/err" && grep -q '^live ' "$work/out" || fail "$name: info: $(cat "$work/err")"
	"$cli" info --json "$pid" >"$work/before" && python3 -c 'import json, sys
summary = json.load(open(sys.argv[1]))["summary"]
assert summary["allocated_bytes"] > 1 << 20 and summary["objects"] > 1000, summary' "$work/before" 2>"$work/err" || fail "$name: --json: $(tail -n 1 "$work/err")"
	"$cli" info --slabinfo "$pid" >"$work/slabinfo" && python3 "$here/slabinfo.py" --expect kmalloc-64 --min-objects 1000 <"$work/slabinfo" >"$work/out" 2>&1 ||
		fail "$name: --slabinfo: $(tail -n 1 "$work/out")"
	"$cli" info --openmetrics "$pid" >"$work/metrics" || fail "$name: --openmetrics"
	check_metrics "$work/metrics" "$name: --openmetrics"
	check_metrics "$work/$name.metrics" "$name: metrics:FILE"
	"$cli" info --prometheus "$pid" >"$work/metrics" || fail "$name: --prometheus"
	check_older "$work/metrics" "$name: --prometheus"
	"$cli" top --batch --iterations 2 --delay 0.1 "$pid" >"$work/out" 2>&1 && [ "$(grep -c "^drystone top .* $pid: " "$work/out")" = 2 ] ||
		fail "$name: top: $(head -n 3 "$work/out")"
	"$cli" map --html "$work/map.html" -n 2 -i 0.1 "$pid" 2>"$work/err" && python3 "$here/map_data.py" "$work/map.html" >"$work/out" 2>&1 ||
		fail "$name: map: $(tail -n 1 "$work/err" "$work/out")"
	"$cli" profile --seconds 1 --rate 4096 --all --output "$work/profile.pb.gz" "$pid" 2>"$work/err" || fail "$name: profile: $(cat "$work/err")"
	if [ -n "$pprof" ]; then
		$pprof -sample_index=alloc_space -top "$work/profile.pb.gz" >"$work/out" 2>&1
		grep -Eq '^ *[1-9][0-9.]*[kMG]?B +[0-9.]+% ' "$work/out" || fail "$name: pprof: $(tail -n 5 "$work/out")"
	fi
	if [ -n "$debugger" ]; then
		timeout 60 "$debugger" -nx -batch -p "$pid" -ex "source $top/contrib/drystone-gdb.py" -ex 'drystone caches kmalloc-*' >"$work/out" 2>&1
		grep -Eq '^kmalloc-64 +main +[1-9]' "$work/out" || fail "$name: gdb: $(tail -n 3 "$work/out")"
	fi
	"$cli" doctor "$pid" >"$work/out" 2>&1 || fail "$name: doctor: $(head -n 5 "$work/out")"
	"$cli" info --json "$pid" >"$work/after" && "$cli" diff "$work/before" "$work/after" >"$work/out" 2>&1 || fail "$name: diff: $(tail -n 2 "$work/out")"
	echo "$name: looked at"
}
# ready FILE WORD
ready() {
	for _ in $(seq 1000); do grep -q "$2" "$1" 2>/dev/null && return || sleep 0.02; done
	fail "$1 does not say $2"
}
with() { # with NAME COMMAND...: in the background
	name=$1
	shift
	exec env LD_PRELOAD="$lib" DRYSTONE_CONF="metrics:$work/$name.metrics,metrics_ms:100" PYTHONMALLOC=malloc "$@"
}

c++ -O1 -g -pthread "$here/trial.cpp" -o "$work/trial" || { fail "trial.cpp does not compile"; finish; }
mkfifo "$work/orders"
with threads "$work/trial" "$work/info.xml" <"$work/orders" >"$work/said" &
threads=$!
children=$threads
exec 3>"$work/orders"
ready "$work/said" ready
ready "$work/threads.metrics" EOF
look threads $threads
echo >&3
wait $threads || fail "threads: $?"
python3 - "$work/info.xml" <<'END' || fail "malloc_info: $(head -n 3 "$work/info.xml")"
import sys
from xml.etree import ElementTree
root = ElementTree.parse(sys.argv[1]).getroot()
assert root.tag == "malloc" and root.get("version"), root.tag
assert int(root.find("total[@type='live']").get("size")) > 1 << 20, [e.attrib for e in root.iter("total")]
END

with python /usr/bin/python3 -c '
import os, sys, threading, time
print("ready", flush=True)
stop = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), stop.set())).start()
kept, turn = {}, 0
while not stop.is_set():
    kept[turn % 50000] = [str(turn) * (turn % 50), {turn: turn}]
    turn += 1
    if turn % 1000 == 0:
        time.sleep(0.001)
print("done", len(kept))' <"$work/orders" >"$work/said" &
python=$!
children="$children $python"
exec 3>"$work/orders"
ready "$work/said" ready
ready "$work/python.metrics" EOF
sleep 0.3
look python $python
echo >&3
wait $python && grep -q '^done [1-9]' "$work/said" || fail "python: $(cat "$work/said")"

if command -v node >/dev/null; then
	with node node -e '
const kept = new Map();
let turn = 0;
const work = setInterval(() => { for (let i = 0; i < 500; i++) kept.set(turn++ % 20000, Buffer.alloc(turn % 5000 + 9000)); }, 0);
process.stdin.on("data", () => { clearInterval(work); console.log("done", kept.size); process.stdin.destroy(); });
console.log("ready");' <"$work/orders" >"$work/said" &
	node=$!
	children="$children $node"
	exec 3>"$work/orders"
	ready "$work/said" ready
	ready "$work/node.metrics" EOF
	look node $node
	echo >&3
	wait $node && grep -q '^done [1-9]' "$work/said" || fail "node: $(cat "$work/said")"
else
	echo "note: no node: not tried"
fi

if command -v redis-server >/dev/null && command -v redis-benchmark >/dev/null; then
	with redis redis-server --port 0 --unixsocket "$work/redis" --save '' --activedefrag no --dir "$work" >"$work/said" 2>&1 &
	redis=$!
	children="$children $redis"
	ready "$work/redis.metrics" EOF
	for _ in $(seq 500); do [ -S "$work/redis" ] && break || sleep 0.02; done
	redis-benchmark -s "$work/redis" -t set -n 1000000000 -r 50000 -d 300 -P 8 >"$work/load" 2>&1 3>&- &
	load=$!
	children="$children $load"
	for _ in $(seq 500); do [ "$(redis-cli -s "$work/redis" dbsize 2>"$work/err")" -gt 5000 ] 2>"$work/err" && break || sleep 0.02; done
	look redis $redis
	kill $load || fail "there was no load: $(tail -n 3 "$work/load")"
	[ "$(redis-cli -s "$work/redis" dbsize)" -gt 5000 ] || fail "redis: $(tail -n 3 "$work/said")"
	redis-cli -s "$work/redis" shutdown nosave >"$work/out" 2>&1
	wait $redis || fail "redis: $?"
else
	echo "note: no redis: not tried"
fi

# slabtop itself, where a file may be put in place of /proc/slabinfo
if [ -n "$slabtop" ] && unshare -m true 2>"$work/err"; then
	unshare -m sh -c 'mount --bind "$1" /proc/slabinfo && exec "$2" -o -s c' - "$work/slabinfo" "$slabtop" >"$work/out" 2>"$work/err" || fail "slabtop: $(cat "$work/err")"
	grep -Eq '^ *[1-9][0-9]* +[0-9]+ +[0-9]+% .* kmalloc-64 *$' "$work/out" || fail "slabtop: $(head -n 12 "$work/out")"
else
	echo "note: slabtop is not tried"
fi
finish
