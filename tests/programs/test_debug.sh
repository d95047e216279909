#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# Programs with every cache debugged: they print the same, and nothing in them is reported.
. "$(dirname "$0")/common.inc"
need gcc python3
export DRYSTONE_CONF=debug:FZPUQ PYTHONMALLOC=malloc PYTHONHASHSEED=0
same python3 'python3 -c "
import json, re, threading
def work(seed):
    data = {str(i): [i * seed, str(i) * (i % 40)] for i in range(4000)}
    text = json.dumps(data)
    assert json.loads(text) == data
    found.append((seed, len(re.findall(\"[0-9]+\", text))))
found = []
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
print(sorted(found))"'
same gcc 'printf "#include <stdio.h>\nint main(void){puts(\"built\");return 0;}\n" > t.c && gcc -O2 -g t.c -o t && ./t'
if command -v sqlite3 >/dev/null; then
	same sqlite3 'sqlite3 -batch :memory: "CREATE TABLE t(a INTEGER PRIMARY KEY, b BLOB);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<5000)
		INSERT INTO t SELECT i, zeroblob(i % 900) FROM n; CREATE INDEX tb ON t(b);
		DELETE FROM t WHERE a % 3 = 0; SELECT count(*), sum(length(b)) FROM t;"'
fi
finish
