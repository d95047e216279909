#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# Real programs print the same on the allocators for small machines, by drystone run --allocator.
. "$(dirname "$0")/common.inc"
# One library is one run of this script: the other variants have nothing to add.
case $lib in */posix/*) skip "the same for both ports" ;; esac
[ -z "${GLIBC_TUNABLES-}" ] || skip "no restartable sequences in these"
folder=$(dirname "$cli")
# Of address space: nothing is written to it.
cat >"$work/gigabyte.c" <<'E'
#include <stdlib.h>
int main(void)
{
	for (int i = 0; i < 64; i++)
		if (malloc(16 << 20) == NULL)
			return 1;
	return 0;
}
E
cc -O0 -o "$work/gigabyte" "$work/gigabyte.c" || fail "gigabyte.c cannot be compiled"
for which in ALL ONE; do
	command -v g++ >/dev/null || continue
	g++ -std=c++17 -O1 -fno-builtin -D$which -o "$work/own-$which" "$top/tests/embed/link/operators.cpp" ||
		fail "operators.cpp cannot be compiled"
done
for allocator in tiny sequential; do
	lib=$folder/libdrystone-$allocator-malloc.so
	"$cli" run --allocator=$allocator -- grep -q "libdrystone-$allocator-malloc" /proc/self/maps ||
		fail "run --allocator=$allocator does not load $lib"
	"$cli" run -a $allocator --stats -- ls / >/dev/null 2>"$work/err"
	grep -q '^kmem_cache' "$work/err" || fail "$allocator: no listing at exit: $(cat "$work/err")"
	tail -n 1 "$work/err" | grep -Eq '^# drystone: bytes in pages in use [1-9][0-9]* reserved [1-9][0-9]*$' || fail "$allocator: no totals"
	# of options that have no effect a line each; of two with one name the later one counts
	"$cli" run -a $allocator --conf decay_ms:100,stats:1,nonsense,stats:0,abort:0,abort:yes, -- ls / >/dev/null 2>"$work/err"
	for option in decay_ms:100 nonsense abort:yes; do
		echo "drystone: DRYSTONE_CONF: without effect here: $option (abort and stats have one, with 0 or 1)"
	done | cmp -s - "$work/err" || fail "$allocator: options: $(cat "$work/err")"
	"$cli" run -a $allocator -- "$work/gigabyte" || fail "$allocator: less than a GiB for a program"
	for program in "$work"/own-*; do # its own operators new and delete come first, and the others come to them
		[ ! -x "$program" ] || "$cli" run -a $allocator -- "$program" >"$work/out" 2>&1 ||
			fail "$allocator: ${program##*/}: $(cat "$work/out")"
	done
	command -v python3 >/dev/null && same "$allocator: python3" 'python3 - <<E
import json, threading
def work(n, out):
    d = {str(i): ["x" * (i % 300)] * (i % 7) for i in range(n)}
    out.append(len(json.dumps(d)))
out = []
threads = [threading.Thread(target=work, args=(3000 + i, out)) for i in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
print(sorted(out))
E'
	command -v sqlite3 >/dev/null && same "$allocator: sqlite3" 'sqlite3 -batch :memory: "
		CREATE TABLE t(a INTEGER PRIMARY KEY, b BLOB);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<5000)
		INSERT INTO t SELECT i, zeroblob(i % 900) FROM n; DELETE FROM t WHERE a % 3 = 0;
		PRAGMA integrity_check; SELECT count(*), sum(length(b)) FROM t;"'
	command -v g++ >/dev/null && same "$allocator: c++" 'cat >t.cc <<E
#include <cstdio>
#include <map>
#include <string>
int main() { std::map<std::string, int> m; for (int i = 0; i < 20000; i++) m[std::to_string(i * 7919 % 10007)] += i;
	long s = 0; for (auto &p : m) s = s * 31 + p.second; std::printf("%ld %zu\\n", s, m.size()); }
E
	g++ -O1 -o t t.cc && ./t'
	command -v redis-server >/dev/null && command -v python3 >/dev/null && same "$allocator: redis" "python3 $here/redis_session.py"
done
"$cli" run --allocator=nonsense true 2>"$work/err"
[ $? = 125 ] || fail "an unknown allocator is not refused"
grep -q 'no allocator "nonsense"' "$work/err" || fail "no message: $(cat "$work/err")"
finish
