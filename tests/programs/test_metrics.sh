#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# Metrics from the library: a file, a socket; well-formed, as much as the command says, and what the dashboard asks for.
. "$(dirname "$0")/common.inc"
need python3 cc
cc -O1 -pthread -I"$top/include" "$here/profiled.c" -o "$work/profiled" || { fail "profiled.c does not compile"; finish; }

LD_PRELOAD=$lib DRYSTONE_CONF=metrics:$work/%p.txt "$work/profiled" >"$work/out" || fail "with metrics: $?"
mv "$work"/[0-9]*.txt "$work/metrics.txt" || fail "no file at exit"
python3 "$here/openmetrics.py" --most-labels 101 --expect drystone_cache_live_bytes=12800000 --expect drystone_allocs_total=300000 \
	<"$work/metrics.txt" >"$work/count" || fail "file: $(head -n 5 "$work/metrics.txt")"
python3 - "$top/contrib/grafana-drystone.json" "$work/metrics.txt" <<'EOF' || fail "the dashboard asks for what there is not"
import json, re, sys
text = open(sys.argv[2], encoding="utf-8").read()
asked = {name for panel in json.load(open(sys.argv[1], encoding="utf-8"))["panels"] for target in panel["targets"]
         for name in re.findall(r"drystone_\w+", target["expr"])}
assert len(asked) > 8 and all(re.search(r"^%s[ {]" % name, text, re.M) for name in asked), asked
EOF

# for node_exporter, by the file's name; promtool reads it as it is
LD_PRELOAD=$lib DRYSTONE_CONF=metrics:$work/older.prom "$work/profiled" >"$work/out" || fail "with metrics in the older format: $?"
grep -q '^# TYPE drystone_allocs_total counter$' "$work/older.prom" && ! grep -Eq '^# (UNIT|EOF)' "$work/older.prom" ||
	fail "older format: $(head -n 5 "$work/older.prom")"
if command -v promtool >/dev/null; then
	promtool check metrics <"$work/older.prom" >"$work/lint" 2>&1 && [ ! -s "$work/lint" ] || fail "promtool: $(head -n 5 "$work/lint")"
fi

# the files of several processes, which a collector merges: no series is in two of them
mkdir "$work/several"
for _ in 1 2; do
	LD_PRELOAD=$lib DRYSTONE_CONF=metrics:$work/several/%p.prom "$work/profiled" >"$work/out" || fail "one of several: $?"
done
series=$(grep -hv '^#' "$work"/several/*.prom | sed 's/ [0-9.]*$//' | sort)
[ "$(ls "$work/several" | wc -l)" = 2 ] && [ -n "$series" ] && [ -z "$(echo "$series" | uniq -d)" ] ||
	fail "several: $(echo "$series" | uniq -d | head -n 3)"

# while it runs: rewritten, never seen in part; at a socket, by HTTP and without; as the command says
mkfifo "$work/orders"
LD_PRELOAD=$lib DRYSTONE_CONF=metrics:$work/live.txt,metrics_ms:10 "$work/profiled" again <"$work/orders" >"$work/said" &
children="$children $!"
LD_PRELOAD=$lib DRYSTONE_CONF=metrics:unix:$work/socket,debug:ZU sh -c 'echo ready; read x' <"$work/orders" >"$work/said2" &
shell=$!
children="$children $shell"
exec 3>"$work/orders"
for _ in $(seq 500); do [ -s "$work/live.txt" ] && [ -S "$work/socket" ] && grep -q ready "$work/said2" && break || sleep 0.02; done
python3 - "$work/live.txt" "$work/socket" "$work/plain.txt" "$work/http.txt" "$work/head.txt" <<'EOF' || fail "file or socket, while it runs"
import socket, sys, time
seen = set()
end = time.monotonic() + 20
while len(seen) < 5 and time.monotonic() < end:
    text = open(sys.argv[1], encoding="utf-8").read()
    assert text.startswith("# TYPE drystone_resident_bytes") and text.endswith("# EOF\n"), text[-80:]
    seen.add(text)
assert len(seen) == 5, "it is not rewritten"
for request, path in ((b"", sys.argv[3]), (b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", sys.argv[4]),
                      (b"HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n", sys.argv[5])):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(sys.argv[2])
        client.sendall(request)
        got = b""
        while piece := client.recv(65536):
            got += piece
    open(path, "wb").write(got)
# Who connects and says and reads nothing keeps nobody out.
silent = socket.socket(socket.AF_UNIX)
silent.connect(sys.argv[2])
with socket.socket(socket.AF_UNIX) as client:
    client.settimeout(10)
    client.connect(sys.argv[2])
    assert client.recv(65536)
EOF
python3 "$here/openmetrics.py" <"$work/plain.txt" >"$work/count" || fail "socket: $(head -n 5 "$work/plain.txt")"
head -n 1 "$work/http.txt" | grep -q '^HTTP/1.0 200 OK' && sed '1,/^.$/d' "$work/http.txt" | python3 "$here/openmetrics.py" >"$work/count" ||
	fail "HTTP: $(head -n 5 "$work/http.txt")"
[ "$(sed '/^.$/q' "$work/http.txt")" = "$(cat "$work/head.txt")" ] || fail "HTTP, HEAD: $(head -n 9 "$work/head.txt")"
"$cli" info --openmetrics $shell >"$work/command.txt"
for name in caches active_bytes cache_bytes cache_live_bytes waste_bytes metadata_bytes reserved_bytes; do
	said() { sed -n "s/^drystone_$name.*[ }]\([0-9]*\)\$/\1/p" "$1" | awk '{ s += $1 } END { print s }'; }
	[ "$(said "$work/plain.txt")" = "$(said "$work/command.txt")" ] ||
		fail "$name: $(said "$work/plain.txt"), the command says $(said "$work/command.txt")"
done
for _ in 1 2 3; do echo >&3; done
wait $shell
for _ in $(seq 100); do [ -e "$work/socket" ] || break; sleep 0.02; done

# who closes it, and opens a socket of its own under the same number, gets all who connect there
cat >"$work/own.c" <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int door, guests = 0;
	(void)argc;
	strncpy(at.sun_path, argv[1], sizeof(at.sun_path) - 1);
	usleep(300000);
	close_range(3, ~0u, 0);
	door = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (bind(door, (struct sockaddr *)&at, sizeof(at)) != 0 || listen(door, 10) != 0)
		return 2;
	while (dup(door) < 99)
		continue;
	for (int i = 0; i < 4; i++) {
		if (connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&at, sizeof(at)) != 0)
			return 3;
		usleep(700000);
		guests += accept(door, NULL, NULL) >= 0;
	}
	printf("%d guests of 4\n", guests);
	return guests != 4;
}
END
"${CC:-cc}" -w "$work/own.c" -o "$work/own"
LD_PRELOAD=$lib DRYSTONE_CONF=metrics:unix:$work/ours "$work/own" "$work/theirs" >"$work/out" || fail "a socket of its own: $(cat "$work/out")"

# whatever names programs have given, labels are visible ASCII: also where one was cut within a character
cat >"$work/named.c" <<'END'
#include <drystone/drystone.h>
#pragma weak dry_cache_create
#pragma weak dry_heap_create
int main(void)
{
	static const char *const names[] = { "odd 1\n# EOF", "odd\"2\\", "odd3\xff\xfe",
		"odd4-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\u00fc\u00fc" };
	for (int i = 0; i < 4; i++)
		dry_cache_create(0, &(struct dry_cache_attr){ .name = names[i], .size = 40, .flags = DRY_CACHE_NO_MERGE });
	dry_cache_create(dry_heap_create(&(struct dry_heap_attr){ .name = "he\nap\xff" }), &(struct dry_cache_attr){ .name = "c", .size = 9 });
	return 0;
}
END
"${CC:-cc}" -w -I"$top/include" "$work/named.c" -o "$work/named"
for end in txt prom; do
	LD_PRELOAD=$lib DRYSTONE_CONF=metrics:$work/named.$end "$work/named" || fail "names: $?"
	if LC_ALL=C grep -q '[^ -~]' "$work/named.$end"; then fail "names: $(LC_ALL=C grep '[^ -~]' "$work/named.$end" | head -n 3)"; fi
done
python3 "$here/openmetrics.py" <"$work/named.txt" >"$work/count" || fail "names: $(grep odd "$work/named.txt")"
for shown in 'cache="odd_1?#_EOF"' 'cache="odd\"2\\"' 'cache="odd3??"' 'heap="he?ap?"'; do
	grep -Fq "$shown" "$work/named.txt" || fail "names: no $shown: $(grep 'odd\|he?' "$work/named.txt" | head -n 6)"
done

# counters keep what caches and heaps have counted that are gone, in the file and for the command
cat >"$work/gone.c" <<'END'
#include <drystone/drystone.h>
#include <stdio.h>
#pragma weak dry_cache_create
#pragma weak dry_cache_destroy
#pragma weak dry_cache_alloc
#pragma weak dry_cache_free
#pragma weak dry_heap_create
#pragma weak dry_heap_destroy
static dry_cache *used(dry_heap *heap)
{
	dry_cache *cache = dry_cache_create(heap, &(struct dry_cache_attr){ .name = "gone", .size = 40, .flags = DRY_CACHE_NO_MERGE });
	for (int i = 0; i < 10000; i++)
		dry_cache_free(cache, dry_cache_alloc(cache));
	return cache;
}
int main(void)
{
	dry_heap *heap = dry_heap_create(0);
	if (dry_cache_destroy(used(0)) != 0 || dry_cache_destroy(used(heap)) != 0 || !used(heap) || dry_heap_destroy(heap) != 0)
		return 2;
	puts("ready");
	fflush(stdout);
	getchar();
	return 0;
}
END
"${CC:-cc}" -w -I"$top/include" "$work/gone.c" -o "$work/gone"
mkfifo "$work/end"
LD_PRELOAD=$lib DRYSTONE_CONF=metrics:$work/gone.txt "$work/gone" <"$work/end" >"$work/said3" &
gone=$!
children="$children $gone"
exec 4>"$work/end"
for _ in $(seq 500); do grep -q ready "$work/said3" && break || sleep 0.02; done
"$cli" info --openmetrics "$gone" >"$work/gone.now"
exec 4>&-
wait "$gone" || fail "caches that are gone: $?"
for seen in "$work/gone.now" "$work/gone.txt"; do
	awk '/^drystone_allocs_total/ { n = $2 } END { exit n < 30000 || n > 31000 }' "$seen" ||
		fail "caches that are gone: $(grep '^drystone_allocs' "$seen")"
done

# what cannot be had is one line
LD_PRELOAD=$lib DRYSTONE_CONF=metrics:/nowhere/x true 2>"$work/err"
[ "$(grep -c 'metrics: cannot be written: /nowhere/x' "$work/err")" -le 1 ] || fail "a file that cannot be had: $(cat "$work/err")"
LD_PRELOAD=$lib DRYSTONE_CONF=metrics:unix:/nowhere/x "$work/profiled" 2>"$work/err" >"$work/out"
grep -q '^drystone: metrics: no such socket can be made: unix:/nowhere/x' "$work/err" || fail "a socket that cannot be had: $(cat "$work/err")"
LD_PRELOAD=$lib DRYSTONE_CONF=metrics:unix: "$work/profiled" 2>"$work/err" >"$work/out"
grep -q '^drystone: metrics: no such socket can be made: unix:$' "$work/err" || fail "a socket without a name: $(cat "$work/err")"
# nor is a file taken for a socket that was left behind; such a socket is replaced
echo precious >"$work/file"
LD_PRELOAD=$lib DRYSTONE_CONF=metrics:unix:$work/file "$work/profiled" 2>"$work/err" >"$work/out"
grep -q "no such socket can be made: unix:$work/file" "$work/err" || fail "a file in the socket's place: $(cat "$work/err")"
[ "$(cat "$work/file")" = precious ] || fail "a file in the socket's place is gone"
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$work/left"
LD_PRELOAD=$lib DRYSTONE_CONF=metrics:unix:$work/left "$work/profiled" 2>"$work/err" >"$work/out"
[ ! -s "$work/err" ] && [ ! -e "$work/left" ] || fail "a socket that was left behind: $(cat "$work/err")"
# nor does it end the program where files may not be so big
for conf in metrics:$work/big.txt profile:1000,profile_file:$work/big.txt; do
	status=0
	(ulimit -f 0 && LD_PRELOAD=$lib DRYSTONE_CONF=$conf exec "$work/profiled") >/dev/null 2>&1 </dev/null || status=$?
	[ $status = 0 ] || fail "$conf, no files: status $status"
	[ ! -e "$work/big.txt" ] || fail "$conf, no files: there is one"
done
# a child without a program of its own leaves its parent's file alone
LD_PRELOAD=$lib DRYSTONE_CONF=metrics:$work/parent.txt,metrics_ms:3600000 "$(python3 -c 'import sys; print(sys.executable)')" -c 'import os, time
time.sleep(0.5)
before = os.stat("'"$work"'/parent.txt").st_ino
if os.fork() == 0:
    raise SystemExit(0)
os.wait()
assert os.stat("'"$work"'/parent.txt").st_ino == before' || fail "a forked child writes its parent's file"
finish
