#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# drystone top: in batches, and in a terminal of 80x24 driven by keys.
# DRY_TEST_NO_NORSEQ, DRY_TEST_NO_POSIX: it is about the command.
. "$(dirname "$0")/common.inc"
need python3 c++
c++ -O1 -pthread "$here/holder.cpp" -o "$work/holder" || { fail "holder.cpp does not compile"; finish; }
mkfifo "$work/orders"
LD_PRELOAD=$lib "$work/holder" <"$work/orders" >"$work/said" 2>"$work/child.err" &
child=$!
children=$child
exec 3>"$work/orders"
for _ in $(seq 2000); do grep -q ready "$work/said" && break || sleep 0.02; done

"$cli" top --batch --iterations 2 --delay 0.2 "$child" >"$work/out" 2>"$work/err" || fail "--batch: $(cat "$work/err")"
[ "$(grep -c "^drystone top - [0-9:]*, holder $child: [0-9]* objects" "$work/out")" = 2 ] || fail "--batch: not twice: $(cat "$work/out")"
[ "$(grep -c '^run-128K .*  [0-9]* ' "$work/out")" = 2 ] || fail "--batch: no page runs"
[ "$(awk 'length > 80' "$work/out" | wc -l)" = 0 ] || fail "lines of more than 80 columns"
"$cli" top -b -n 2 -d 4295 "$child" >"$work/out" & # its microseconds take more than 32 bits
waits=$!
for _ in $(seq 500); do [ -s "$work/out" ] && break || sleep 0.02; done
sleep 0.3
kill -0 $waits 2>/dev/null || fail "-d 4295 is no time at all"
kill $waits
"$cli" top -b -n 1 -f '*holder*' >"$work/out" || fail "-b of all processes"
grep -Eq "^ *$child holder  *[0-9.]+M  *[0-9.]+M" "$work/out" || fail "-b: the process is not listed: $(cat "$work/out")"
"$cli" top -b -n 1 -s name -f 'kmalloc-*' "$child" | sed '1,/^CACHE/d; /^$/d; s/ .*//' >"$work/names"
[ -s "$work/names" ] && sort -V -c "$work/names" 2>"$work/err" || fail "-s name: $(cat "$work/err")"

"$cli" top "$child" </dev/null >"$work/out" 2>"$work/err" && fail "top without a terminal"
grep -q 'this is no terminal; --batch' "$work/err" || skip "$(cat "$work/err")"
for bad in x '1 2' '-d 0 1' '-d x' '-n 0' '-n x' '-s nonsense' '--nonsense'; do
	# shellcheck disable=SC2086 # words
	"$cli" top $bad >"$work/out" 2>"$work/err" </dev/null
	[ $? = 2 ] && [ ! -s "$work/out" ] && [ -s "$work/err" ] || fail "top $bad: $(cat "$work/out" "$work/err")"
done
"$cli" top -b 4194305 2>"$work/err" && fail "top of no process"
grep -q '^drystone: no process 4194305$' "$work/err" || fail "no process: $(cat "$work/err")"

# nothing to watch: processes that may not be read
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	cp "$cli" "$work/drystone" && chmod 755 "$work" "$work/drystone"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$work/drystone" top -b -n 1 >"$work/out" 2>"$work/err"
	[ $? = 1 ] && grep -q ' 0 processes' "$work/out" || fail "nothing to watch: $(cat "$work/out" "$work/err")"
	"$cli" top -b -n 1 -f 'nothing like this' >"$work/out" || fail "a filter that leaves nothing"
fi

# ^C ends it well; a terminal that can do nothing is told from one
cat >"$work/keys.py" <<'EOF'
import os, pty, sys
pid, file = pty.fork()
if pid == 0:
    os.environ["TERM"] = sys.argv[1]
    os.execv(sys.argv[2], sys.argv[2:])
seen = b""
try:
    while b"drystone top - " not in seen:
        seen += os.read(file, 4096)
    os.write(file, b"\3")
    while True:
        seen += os.read(file, 4096)
except OSError:  # it has ended
    pass
print(seen.decode("latin-1"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
EOF
timeout 30 python3 "$work/keys.py" vt100 "$cli" top "$child" >"$work/out" || fail "^C: status $?: $(cat "$work/out")"
timeout 30 python3 "$work/keys.py" dumb "$cli" top "$child" >"$work/out" && fail "TERM=dumb: $(cat "$work/out")"
grep -q 'drystone: top: the terminal cannot move its cursor; use --batch' "$work/out" || fail "TERM=dumb: $(cat "$work/out")"

for python in python3 /usr/bin/python3; do
	"$python" -c 'import pyte' 2>/dev/null || continue
	"$python" "$here/top_pty.py" "$cli" "$child" 2>"$work/err" || fail "in a terminal: $(cat "$work/err")"
	tested=1
	break
done
[ "${tested:-0}" = 1 ] || echo "note: no pyte (python3-pyte); top was not tested in a terminal"
finish
