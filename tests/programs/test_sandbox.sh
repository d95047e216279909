#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# A sandbox without /proc and /sys: programs with threads and forks run in every profile, and say at most one line.
. "$(dirname "$0")/common.inc"
need unshare mount python3
unshare -m sh -c 'mount -t tmpfs none /sys && mount -t tmpfs none /proc' 2>/dev/null || skip "no right to mount"
cat >"$work/program.py" <<'END'
import os, threading
def work(n, out):
    out.append(sum(len(str(i) * (i % 50)) for i in range(n)))
out = []
threads = [threading.Thread(target=work, args=(20000 + i, out)) for i in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
child = os.fork()
if child == 0:
    work(1000, [])
    os._exit(3)
print(sorted(out), os.waitpid(child, 0)[1] >> 8, os.path.exists("/proc/self"))
END
python=$(python3 -c 'import sys; print(sys.executable)')
# A limit on address space is told from /proc elsewhere.
for conf in abort:1 check:1 secure:1 guard:1,guard_rate:1000 limit:90% debug:FZPU/kmalloc-64; do
	for limit in unlimited 4000000; do
		unshare -m sh -c "mount -t tmpfs none /sys && mount -t tmpfs none /proc && ulimit -v $limit &&
			LD_PRELOAD='$lib' DRYSTONE_CONF='$conf' PYTHONMALLOC=malloc exec '$python' '$work/program.py'" >"$work/out" 2>"$work/err"
		status=$?
		[ $status = 0 ] || fail "$conf, ulimit -v $limit: status $status: $(cat "$work/err")"
		grep -q '\], *3 False$\|\] 3 False$' "$work/out" || fail "$conf, ulimit -v $limit: $(cat "$work/out")"
		[ "$(wc -l <"$work/err")" -le 1 ] || fail "$conf, ulimit -v $limit: more than one line: $(cat "$work/err")"
	done
done
finish
