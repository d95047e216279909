#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# drystone info: listings of live processes parse strictly; every refusal is one clear line.
. "$(dirname "$0")/common.inc"
need python3 cc
real=$(python3 -c "import sys; print(sys.executable)")
parse() { "$real" -S -E "$here/slabinfo.py" "$@" 2>>"$work/why"; }
# refused STATUS PATTERN COMMAND...: nothing printed, one line of message
refused() {
	wanted=$1 pattern=$2
	shift 2
	"$@" >"$work/out" 2>"$work/err"
	status=$?
	[ $status = "$wanted" ] || fail "status $status instead of $wanted: $*"
	[ ! -s "$work/out" ] || fail "printed something: $*"
	grep -q -- "$pattern" "$work/err" || fail "no \"$pattern\" in: $(cat "$work/err")"
}
# start PROGRAM...: in the background, its id in $child, once it said "ready"
start() {
	: >"$work/ready"
	"$@" >"$work/ready" 2>"$work/child.err" &
	child=$!
	children="$children $child"
	for _ in $(seq 2000); do
		grep -q ready "$work/ready" && return
		sleep 0.05
	done
	fail "$* did not start: $(cat "$work/child.err")"
}
stop() {
	kill -9 "$child" 2>/dev/null || fail "the process had ended: $(cat "$work/child.err")"
	wait "$child" 2>/dev/null
}

# guarded blocks: by size, counted, with what is in memory of them
cat >"$work/guards.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char *volatile kept[121];
int main(void)
{
	for (int i = 0; i < 120; i++)
		memset(kept[i] = malloc(200000), 1, 200000);
	for (int i = 0; i < 20; i++)
		free(kept[i]);
	kept[120] = malloc(50 << 20);
	for (int i = 0; i < 200000; i++)
		kept[0] = malloc(100);
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
END
"${CC:-cc}" -O1 -fno-builtin "$work/guards.c" -o "$work/guards"
start "$cli" run --library "$lib" --conf secure:1 -- "$work/guards"
rows=$("$cli" info --json "$child" | python3 -c 'import json, sys
info = json.load(sys.stdin)
rows = [b for b in info["big_blocks"] if b["kind"] == "guarded"]
summary = info["summary"]
assert summary["guarded_bytes"] == sum(b["bytes"] for b in rows) and summary["guarded_blocks"] == sum(b["active_objs"] for b in rows), info
assert summary["others_bytes"] < 2 << 20, summary # the tables of all this are drystone
for b in rows:
    print(b["name"], b["active_objs"], b["objsize"], b["resident_bytes"])')
for row in 'guarded-[0-9]*K 100 2[0-9]* 2[0-9]*' 'guarded-[0-9]*M 1 52[0-9]* [0-9]\{1,7\}'; do # the second was not touched
	echo "$rows" | grep -qx "$row" || fail "guarded blocks: no $row in $rows"
done
stop

# a process with nothing has the same totals as one with much
totals() { "$cli" info --json "$child" | python3 -c 'import json, sys; print(*json.load(sys.stdin)["summary"])'; }
start "$cli" run --library "$lib" -- "$work/guards"
totals >"$work/one"
stop
printf 'main() { write(1, "ready\\n", 6); pause(); }' | "${CC:-cc}" -w -x c - -o "$work/idle"
start "$cli" run --library "$lib" -- "$work/idle"
totals >"$work/two"
stop
cmp "$work/one" "$work/two" || fail "totals: $(cat "$work/one" "$work/two")"

# a process at rest: the figures are right
export PYTHONMALLOC=malloc
start "$cli" run --library "$lib" -- "$real" -uc 'import time
keep = [bytes(500) for i in range(50000)]
print("ready")
time.sleep(100)'
"$cli" info --slabinfo "$child" | parse --min-objects 50000 >/dev/null || fail "a quiet process: $(cat "$work/why")"
"$cli" info --slabinfo --all "$child" | parse --min-objects 50000 >/dev/null || fail "--all: $(cat "$work/why")"
"$cli" info --json "$child" | python3 -c 'import json, sys
big = [c for c in json.load(sys.stdin)["caches"] if c["objsize"] >= 533 and c["objsize"] < 700]
sys.exit(not 50000 <= sum(c["active_objs"] for c in big) <= 52000)' || fail "--json: not the 50000 objects"
# twice the same: nothing is changed by looking. Its helper thread may tidy up in between, but comes to rest.
for _ in $(seq 100); do
	"$cli" info "$child" >"$work/one"
	"$cli" info "$child" >"$work/two"
	cmp -s "$work/one" "$work/two" && break
	sleep 0.1
done
cmp -s "$work/one" "$work/two" || fail "two listings of a sleeping process differ"
"$cli" info "$child" >/dev/full 2>"$work/err" && fail "a full disk went unnoticed"
# no permission
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	cp "$cli" "$work/drystone"
	chmod 755 "$work" "$work/drystone"
	refused 1 "no permission to read process $child.*ptrace_scope.*root.*CAP_SYS_PTRACE" \
		setpriv --reuid 65534 --regid 65534 --clear-groups "$work/drystone" info "$child"
elif [ "$(id -u)" != 0 ]; then
	refused 1 'no permission to read process 1:' "$cli" info 1
else
	echo "note: no setpriv; refusal for want of permission was not tested"
fi
stop

# processes under load, 70 times in all
cc -O1 -pthread "$here/busy.c" -o "$work/busy"
start "$cli" run --library "$lib" -- "$work/busy"
for _ in $(seq 100); do # it has to begin first
	"$cli" info --slabinfo "$child" 2>/dev/null | parse --min-objects 1000 >/dev/null && break
	sleep 0.1
done
for n in $(seq 50); do
	"$cli" info --slabinfo "$child" >"$work/busy.$n" 2>"$work/err" || fail "under load, $n: $(cat "$work/err")"
	[ "$failures" -lt 5 ] || break
done
stop
[ "$(parse --min-objects 1000 "$work"/busy.* | wc -l)" = 50 ] || fail "under load: $(tail -n 1 "$work/why")"
# heaps that come and go: a listing that could not be finished says so, but is well-formed
cc -O1 -pthread -DHEAPS -I "$top/include" "$here/busy.c" -o "$work/heaps" "$lib" -Wl,-rpath,"$(dirname "$lib")"
start "$work/heaps"
whole=0 seen=0
for n in $(seq 400); do
	[ "$n" -le 20 ] || [ $whole -lt 10 ] || [ $seen = 0 ] || break
	if "$cli" info --slabinfo "$child" >"$work/out" 2>"$work/err"; then
		kind=whole
		whole=$((whole + 1))
	else
		grep -q 'could not be read to the end' "$work/err" || fail "heaps, $n: $(cat "$work/err")"
		kind=part
	fi
	grep -q '^second_heap/kind_' "$work/out" && seen=1
	mv "$work/out" "$work/$kind.$n"
	[ $kind = part ] || last=$work/whole.$n
	[ "$failures" -lt 5 ] || break
done
[ $seen = 1 ] || fail "no cache of the second heap was ever seen"
[ $whole -ge 10 ] || fail "only $whole of $n listings of changing heaps were whole"
stop
parse "$work"/whole.* >/dev/null || fail "heaps: $(tail -n 1 "$work/why")"
parse --expect kmalloc-64 "$last" >/dev/null || fail "heaps, the last: $(tail -n 1 "$work/why")" # the first may come before malloc
for part in "$work"/part.*; do
	[ ! -f "$part" ] || set -- "$@" "$part"
done
[ $# = 0 ] || parse "$@" >/dev/null || fail "heaps, a part: $(tail -n 1 "$work/why")"

# a process whose first thread has ended
cat >"$work/ended.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_t first;
static void *rest(void *block)
{
	pthread_join(first, NULL);
	puts("ready");
	fflush(stdout);
	sleep(100);
	return block;
}
int main(void)
{
	pthread_t thread;
	first = pthread_self();
	pthread_create(&thread, NULL, rest, malloc(60));
	pthread_exit(NULL);
}
END
cc -w "$work/ended.c" -pthread -o "$work/ended"
start env LD_PRELOAD="$lib" "$work/ended"
"$cli" info --slabinfo "$child" >"$work/ended.out" || fail "not of a process whose first thread has ended"
parse --expect kmalloc-64 "$work/ended.out" >/dev/null || fail "first thread ended: $(tail -n 1 "$work/why")"
"$cli" info "$child" >"$work/ended.out"
grep -q "process $child: " "$work/ended.out" || fail "first thread ended: $(head -n 1 "$work/ended.out")"
stop

# one that has ended, and whose parent does not ask for its status
: >"$work/parent"
LD_PRELOAD=$lib python3 -c 'import subprocess, time
child = subprocess.Popen(["sleep", "2"])
print(child.pid, "ready", flush=True)
time.sleep(100)' >"$work/parent" &
parent=$!
children="$children $parent"
for _ in $(seq 500); do grep -q ready "$work/parent" && break || sleep 0.02; done
read -r child _ <"$work/parent"
for _ in $(seq 100); do "$cli" info "$child" >"$work/out" 2>&1 && break || sleep 0.02; done
"$cli" top -b -d 0.1 "$child" >"$work/top.out" 2>"$work/top.err" &
top_pid=$!
children="$children $top_pid"
timeout 60 "$cli" info --watch=0.1 "$child" >"$work/out" 2>"$work/err" || fail "--watch to the end: $(cat "$work/err")"
[ -s "$work/out" ] || fail "--watch: nothing was watched"
wait $top_pid || fail "top to the end: $(cat "$work/top.err")"
for command in info doctor 'top -b' 'map -o x' profile; do
	# shellcheck disable=SC2086 # words
	refused 1 "process $child has ended" "$cli" $command "$child"
done
kill -9 $parent

# refusals
start sh -c 'echo ready; exec sleep 100'
refused 1 "^drystone: process $child does not run on drystone$" "$cli" info "$child"
stop
refused 1 '^drystone: no process 4194305$' "$cli" info 4194305
for bad in x 0 -- 12x '' 99999999999; do refused 2 'drystone: info: ' "$cli" info "$bad"; done
refused 1 "^drystone: info: $work/none: No such file or directory\$" "$cli" info "$work/none"
refused 1 "^drystone: map: $work/none: No such file or directory\$" "$cli" map -o "$work/x" "$work/none"
refused 2 'one PID or core file is expected' "$cli" info
refused 2 'one PID or core file is expected' "$cli" info 1 2
refused 2 "unrecognized option" "$cli" info --nonsense 1
finish
