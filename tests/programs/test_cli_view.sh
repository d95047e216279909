#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# drystone info: the figures of a known program in every format; big blocks; core files; growth; the kernel's caches.
# DRY_TEST_NO_NORSEQ, DRY_TEST_NO_POSIX: figures of either are those of test_cli_info.sh.
. "$(dirname "$0")/common.inc"
need python3 cc c++
figures() { python3 "$here/info_figures.py" "$@" 2>"$work/why" || fail "$*: $(cat "$work/why")"; }
info() { "$cli" info "$@" 2>"$work/err" || fail "info $*: $(cat "$work/err")"; }
# wait_for WORD: the child says so
wait_for() {
	for _ in $(seq 2000); do
		grep -q "$1" "$work/said" && return
		sleep 0.02
	done
	fail "the program did not say $1: $(cat "$work/child.err")"
}
ulimit -c 0
c++ -O1 -pthread "$here/holder.cpp" -o "$work/holder" || { fail "holder.cpp does not compile"; finish; }
mkfifo "$work/orders"
# Little address space, so that the core file below is small.
(ulimit -v 600000 && LD_PRELOAD=$lib exec "$work/holder") <"$work/orders" >"$work/said" 2>"$work/child.err" &
child=$!
children=$child
exec 3>"$work/orders"
wait_for ready
kill -STOP "$child"
info --json "$child" >"$work/json"
figures holder "$work/json"

# the text: a summary, then rows by size
info "$child" >"$work/out"
head -n 1 "$work/out" | grep -Eq "^holder, process $child: [0-9]+ objects of [0-9]+ caches, 51[0-9] big blocks$" ||
	fail "summary: $(head -n 1 "$work/out")"
for line in '^resident [0-9.]*M, at most [0-9.]*M, anonymous [0-9.]*M' '^live  .*%$' '^  page runs  ' '^  extents  ' '^waste  ' '^free  ' '^metadata  ' '^malloc_trim() would return' \
	"^not drystone's" '^CACHE  *BYTES  *SHARE  *LIVE  *FREE  *CACHED  *OBJECTS  *SIZE$' '^run-128K .* 500 ' '^extent-[56]M .* 10 '; do
	grep -q "$line" "$work/out" || fail "no line $line in the text"
done
[ "$(awk 'length > 80' "$work/out" | wc -l)" = 0 ] || fail "lines of more than 80 columns"
info --sort name "$child" | sed '1,/^CACHE/d; /^$/,$d' | cut -d ' ' -f 1 >"$work/names"
[ "$(wc -l <"$work/names")" -gt 5 ] && sort -V -c "$work/names" 2>"$work/err" || fail "--sort name: $(cat "$work/err")"
info --filter 'extent-*' "$child" | sed '1,/^CACHE/d; /^$/,$d' >"$work/out"
[ "$(wc -l <"$work/out")" = "$(grep -c '^extent-' "$work/out")" ] && [ -s "$work/out" ] || fail "--filter: $(cat "$work/out")"
info --columns name,num_slabs,objsize "$child" | grep -q '^CACHE  *SLABS  *SIZE$' || fail "--columns"
info --node --json "$child" >"$work/out"
info --cpu --json "$child" >>"$work/out"
python3 -c 'import json, sys
a, b = (json.loads(x + "\n}") for x in open(sys.argv[1]).read().split("\n}\n")[:2])
whole = {c["name"]: c for c in json.load(open(sys.argv[2]))["caches"]}
for kind, info, key in (("node", a, "num_slabs"), ("slot", b, "array_objs")):
    parts = info["parts"]
    assert all(p["kind"] == kind for p in parts), parts
    for name, cache in whole.items():
        assert sum(p[key] for p in parts if p["name"] == name) == cache[key], (kind, name)
assert a["parts"]' "$work/out" "$work/json" 2>"$work/err" || fail "--node, --cpu: $(tail -n 1 "$work/err")"

# OpenMetrics
info --openmetrics "$child" >"$work/metrics"
for python in python3 /usr/bin/python3; do
	"$python" "$here/openmetrics.py" --expect drystone_block_live_bytes=103600000 --expect drystone_cache_active_objs=40000 \
		--expect drystone_allocs_total=80000 --most-labels 201 <"$work/metrics" >/dev/null 2>"$work/why" ||
		fail "--openmetrics: $(tail -n 1 "$work/why")"
done

# a core file: as good as the process; one that is cut, or no core file, is told
python3 "$here/make_core.py" "$child" "$work/core" || fail "no core file was made"
[ "$(du -k "$work/core" | cut -f 1)" -lt 150000 ] || fail "the core file is big"
info --json "$work/core" >"$work/core.json"
figures same "$work/json" "$work/core.json"
info "$work/core" | grep -q "^holder, core file of process $child: [0-9]* objects" || fail "core file: no summary"
timeout 20 "$cli" info --watch=0.1 "$work/core" >"$work/out" 2>"$work/err" || fail "--watch of a core file: status $?"
[ "$(grep -c '^holder, core file' "$work/out")" = 1 ] || fail "--watch of a core file: $(head -n 5 "$work/out" "$work/err")"
for size in 3000000 100000; do
	truncate -s $size "$work/core"
	"$cli" info "$work/core" >"$work/out" 2>"$work/err"
	grep -q 'cut short' "$work/out" "$work/err" || fail "core file cut at $size: $(cat "$work/err")"
done
grep -q "^drystone: core file $work/core is cut short, and drystone is not in what is left of it" "$work/err" ||
	fail "cut core file: $(cat "$work/err")"
# in the list of mapped files, behind the headers
truncate -s $((64 + 56 * $(od -An -tu2 -j56 -N2 "$work/core") + 200)) "$work/core"
"$cli" info "$work/core" 2>"$work/err" && fail "a core file without its memory"
grep -q "^drystone: core file $work/core is cut short" "$work/err" || fail "core file cut in its notes: $(cat "$work/err")"
rm -f "$work/core"
"$cli" info "$work/metrics" 2>"$work/err" && fail "a text is a core file"
grep -q 'cannot be read: it is no ELF file' "$work/err" || fail "no core file: $(cat "$work/err")"
"$cli" info "$work/holder" 2>"$work/err" && fail "a program is a core file"
grep -q 'it is no core file' "$work/err" || fail "no core file: $(cat "$work/err")"

# of one that has a big file mapped, below the library
truncate -s 300M "$work/data"
cat >"$work/maps.py" <<'END'
import mmap, signal, sys
file = open(sys.argv[1], "rb")
data = mmap.mmap(file.fileno(), 300 << 20, access=mmap.ACCESS_COPY)
data[0] = 1
print("ready", flush=True)
signal.pause()
END
: >"$work/said"
(ulimit -v 900000 && LD_PRELOAD=$lib exec python3 "$work/maps.py" "$work/data") >"$work/said" 2>"$work/child.err" &
big=$!
children="$children $big"
wait_for ready
kill -STOP "$big"
python3 "$here/make_core.py" "$big" "$work/core" || fail "no core file was made of python3"
info "$work/core" >"$work/out"
rm -f "$work/core"
kill -9 "$big"

# of a program with fixed addresses, whose layout is in no core file
if c++ -O1 -static "$here/holder.cpp" "$(dirname "$cli")/libdrystone.a" -pthread -o "$work/fixed" 2>"$work/err"; then
	mkfifo "$work/rest"
	: >"$work/said"
	(ulimit -v 600000 && exec "$work/fixed") <"$work/rest" >"$work/said" 2>"$work/child.err" &
	fixed=$!
	children="$children $fixed"
	exec 4>"$work/rest"
	wait_for ready
	kill -STOP "$fixed"
	info --json "$fixed" >"$work/json"
	python3 "$here/make_core.py" "$fixed" "$work/core" || fail "no core file was made of the static program"
	info --json "$work/core" >"$work/core.json"
	figures same "$work/json" "$work/core.json"
	truncate -s 100000 "$work/core"
	"$cli" info "$work/core" >"$work/out" 2>"$work/err"
	grep -q "^drystone: core file $work/core could not be read to the end (it is cut short)" "$work/err" || fail "cut core file of it: $(cat "$work/err")"
	rm -f "$work/core"
	kill -9 "$fixed"
	exec 4>&-
else
	fail "no static program: $(cat "$work/err")"
fi

# growth, watched
kill -CONT "$child"
: >"$work/watched"
"$cli" info --json --watch=0.2 "$child" >"$work/watched" 2>"$work/err" 3>&- &
watcher=$!
children="$children $watcher"
for _ in $(seq 200); do [ "$(grep -c '^}' "$work/watched")" -ge 2 ] && break || sleep 0.05; done
echo grow >&3
wait_for grown
seen=$(grep -c '^}' "$work/watched")
for _ in $(seq 200); do [ "$(grep -c '^}' "$work/watched")" -gt $((seen + 1)) ] && break || sleep 0.05; done
exec 3>&-
wait "$child"
wait "$watcher" || fail "--watch did not end well with the process: $(cat "$work/err")"
figures growth "$work/watched"
children=

# a program with a malloc of its own
cc -O1 -fno-builtin -rdynamic "$here/own_malloc.c" -o "$work/own" || fail "own_malloc.c does not compile"
: >"$work/said"
LD_PRELOAD=$lib "$work/own" >"$work/said" 2>"$work/child.err" &
child=$!
children=$child
wait_for ready
info "$child" | grep -q '^own brings its own malloc: drystone is loaded, and serves nothing\.$' || fail "own malloc: not said"
info --json "$child" | python3 -c 'import json, sys; assert "own malloc" in json.load(sys.stdin)["note"]' || fail "own malloc: JSON"
kill -9 "$child"
wait "$child" 2>/dev/null
odd=$work/$(printf 'o\033[7mw\302\233n')
cp "$work/own" "$odd"
: >"$work/said"
LD_PRELOAD=$lib "$odd" >"$work/said" 2>"$work/child.err" &
child=$!
children=$child
wait_for ready
info "$child" | grep -q '^o?\[7mw??n brings its own malloc: ' ||
	fail "own malloc: a terminal obeys its name: $(info "$child" | cat -v)"
kill -9 "$child"
wait "$child" 2>/dev/null

# the first process of a container, which has the library where nobody else sees it
cat >"$work/inside" <<'END'
mount -t tmpfs tmpfs "$1" && cp "$2" "$1/hidden.so" && cd "$1" && exec env LD_PRELOAD="$1/hidden.so" "$3"
END
mkdir "$work/inner"
: >"$work/said"
mkfifo "$work/idle"
unshare -mpf --mount-proc sh "$work/inside" "$work/inner" "$lib" "$work/holder" <"$work/idle" >"$work/said" 2>"$work/child.err" &
outer=$!
children=$outer
exec 3>"$work/idle"
for _ in $(seq 200); do { grep -q ready "$work/said" || ! kill -0 "$outer" 2>/dev/null; } && break || sleep 0.05; done
if grep -q ready "$work/said"; then
	child=$(cat "/proc/$outer/task/$outer/children")
	info --json $child >"$work/json"
	python3 -c 'import json, sys
assert sum(b["active_objs"] for b in json.load(open(sys.argv[1]))["big_blocks"] if b["kind"] == "runs") >= 490' "$work/json" ||
		fail "in a container"
	[ ! -e "$work/inner/hidden.so" ] || fail "the library is not hidden"
else
	echo "note: no namespaces (unshare); a container was not tested"
fi
exec 3>&-
wait "$outer" 2>/dev/null
children=

# the running kernel
if [ -r /proc/slabinfo ]; then
	info --kernel --slabinfo >"$work/kernel"
	head -n 1 "$work/kernel" | grep -q '^slabinfo - version: 2.1$' || fail "--kernel: $(head -n 1 "$work/kernel")"
	sed '/^#/d; s/ .*//' /proc/slabinfo >"$work/wanted"
	sed '/^#/d; s/ .*//' "$work/kernel" | cmp -s - "$work/wanted" || fail "--kernel: other caches than /proc/slabinfo has"
	info --kernel --filter 'dentr*' | grep -q '^dentry  *[0-9.]*[KMG]* .*%' || fail "--kernel --filter"
	: >"$work/watched" # what was there would end the loop at once, and the signal come before the command has begun
	"$cli" info --kernel --watch=0.05 --json >"$work/watched" 2>"$work/err" &
	watcher=$!
	children=$watcher
	for _ in $(seq 200); do
		[ "$(grep -c '^}' "$work/watched")" -ge 3 ] || ! kill -0 $watcher 2>"$work/err" && break || sleep 0.02
	done
	kill $watcher && [ "$(grep -c '^}' "$work/watched")" -ge 3 ] || fail "--kernel --watch ends"
	wait $watcher 2>"$work/err"
	children=
	info --kernel --openmetrics | python3 "$here/openmetrics.py" --most-labels 201 >/dev/null || fail "--kernel --openmetrics"
else
	"$cli" info --kernel 2>"$work/err" && fail "--kernel without /proc/slabinfo"
	grep -q '/proc/slabinfo' "$work/err" || fail "--kernel: $(cat "$work/err")"
fi

# calls that make no sense
for bad in '--sort nonsense 1' '--columns bytes,nonsense 1' '--json --slabinfo 1' '--watch=x 1' '--kernel 1' '--openmetrics --watch 1' \
	'--cpu --slabinfo 1' '--json --columns bytes 1'; do
	# shellcheck disable=SC2086 # words
	"$cli" info $bad >"$work/out" 2>"$work/err"
	[ $? = 2 ] && [ ! -s "$work/out" ] && grep -q '^drystone: info: ' "$work/err" || fail "$bad: $(cat "$work/out" "$work/err")"
done
finish
