#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# sqlite3 and redis-server answer the same with and without drystone.
. "$(dirname "$0")/common.inc"
ran=0
if command -v sqlite3 >/dev/null; then
	ran=1
	export SQL="$top/scripts/demo.d/tables.sql"
	same sqlite3 'sqlite3 -batch :memory: < "$SQL"'
	same "sqlite3 on a file" 'set -e
		sqlite3 t.db "CREATE TABLE t(a INTEGER PRIMARY KEY, b BLOB);
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<20000)
			INSERT INTO t SELECT i, zeroblob(i % 900) FROM n; CREATE INDEX tb ON t(b);
			DELETE FROM t WHERE a % 3 = 0; VACUUM; PRAGMA integrity_check; SELECT count(*), sum(length(b)) FROM t;"
		sqlite3 t.db .dump | cksum'
fi
if command -v redis-server >/dev/null && command -v python3 >/dev/null; then
	ran=1
	same redis-server "python3 $here/redis_session.py"
fi
[ $ran = 1 ] || skip "neither sqlite3 nor redis-server is installed"
finish
