#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# Stacks of programs without frame pointers: at least 95 % of the frames that gdb shows at the same place.
# DRY_TEST_NO_NORSEQ
# DRY_TEST_NO_POSIX: it is the same unwinder
# DRY_TEST_NO_SANITIZER
. "$(dirname "$0")/common.inc"
need gdb
gdb -nx -batch -ex 'python print("python")' 2>/dev/null | grep -q python || skip "gdb without python"
[ "$(uname -m)" = x86_64 ] || skip "frame pointers are followed here"

# frames NAME STACKS SKIP PROGRAM ARGUMENT...: the system's builds only
frames() {
	name=$1 stacks=$2 skip=$3
	shift 3
	[ -x "$1" ] || { echo "not installed: $1"; return; }
	gdb -nx -batch -ex 'set environment DEBUGINFOD_URLS' -ex 'set startup-with-shell off' -ex "set \$stacks = $stacks" \
		-ex "set \$skip = $skip" -ex 'set environment PYTHONMALLOC malloc' -ex "set environment LD_PRELOAD $lib" \
		-ex 'set environment DRYSTONE_CONF debug:U' -ex "source $here/frames.py" --args "$@" >"$work/out" 2>&1 </dev/null
	sed -n "s/^frames /$name: frames /p" "$work/out"
	sed -n 's/^frames \([0-9]*\) of \([0-9]*\) in \([0-9]*\) .*/\1 \2 \3/p' "$work/out" | {
		read -r same all found && [ "$found" = "$stacks" ] && [ "$all" -gt $((stacks * 3)) ] &&
			[ $((same * 100)) -ge $((all * 95)) ]
	} || fail "$name: $(tail -n 40 "$work/out")"
}
cat >"$work/script.py" <<'EOP'
import json, re, threading
def work(seed):
    data = {str(i): [i * seed, str(i) * (i % 40)] for i in range(500)}
    text = json.dumps(data)
    assert json.loads(text) == data and re.findall("[0-9]+", text) and sorted(data.items(), key=lambda x: x[1])
threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
[t.start() for t in threads]
work(3)
[t.join() for t in threads]
EOP
cat >"$work/script.sql" <<'EOP'
CREATE TABLE t(a INTEGER PRIMARY KEY, b BLOB, c TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<3000)
	INSERT INTO t SELECT i, zeroblob(i % 900), 'x' || i FROM n;
CREATE INDEX tb ON t(b);
SELECT count(*), sum(length(b)), group_concat(c) FROM t ORDER BY c;
EOP
frames python3 30 300 /usr/bin/python3 "$work/script.py"
frames sqlite3 30 100 /usr/bin/sqlite3 -batch -init "$work/script.sql" :memory: .quit
frames redis-server 20 20 /usr/bin/redis-server --port 0 --save '' --unixsocket "$work/socket"
frames node 20 300 /usr/bin/node -e 'for (let i = 0; i < 300; i++) {
	require("zlib").gzipSync("x".repeat(i)); JSON.parse(JSON.stringify({ a: i })); new RegExp("a" + i + "*").test("aa"); }'
finish
