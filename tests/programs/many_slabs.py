# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""many_slabs.py CLI PROGRAM SLABS [ROUNDS SECONDS]: how long `drystone info` and `drystone map` read a process of so many slabs; and, with
ROUNDS, what it costs the process to be looked at each second: pairs of malloc and free a second of its CPU time, by turns alone and watched,
the best of both."""
import os
import re
import subprocess
import sys
import time

cli, program, slabs = sys.argv[1], sys.argv[2], int(sys.argv[3])
rounds, seconds = (int(sys.argv[4]), float(sys.argv[5])) if len(sys.argv) > 4 else (0, 1)


def timed(*command):
    start = os.times()
    text = subprocess.run([cli, *command], check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
    end = os.times()
    return end.elapsed - start.elapsed, end.children_user + end.children_system - start.children_user - start.children_system, text


with subprocess.Popen([program, str(slabs), str(seconds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as child:
    assert child.stdout.readline() == "ready\n", "the program has no such heap"
    pid = str(child.pid)
    text = timed("info", "--slabinfo", pid)[2]
    found = sum(int(number) for number in re.findall(r": slabdata +\d+ +(\d+)", text))
    best = min(timed("info", pid)[:2] for _ in range(5))
    page = os.path.join(os.path.dirname(program), "many.html")
    drawn = min(timed("map", "--html", page, pid)[:2] for _ in range(3))
    size = os.path.getsize(page)
    os.unlink(page)
    print("%d slabs: info %.3f s (%.3f s of CPU time), map %.3f s (%.3f s), its page %d bytes" % (found, *best, *drawn, size))
    wrong = found < slabs or best[1] > 1 or drawn[1] > 2 or size > 8 * slabs  # CPU time: the machine may be busy
    alone, watched = [], []
    for turn in range(2 * rounds):
        watcher = subprocess.Popen([cli, "info", "--watch=1", pid], stdout=subprocess.DEVNULL) if turn % 2 else None
        child.stdin.write("\n")
        child.stdin.flush()
        count = int(child.stdout.readline())
        (watched if watcher else alone).append(count / seconds)
        if watcher:
            assert watcher.poll() is None, "it ended"
            watcher.kill()
            watcher.wait()
    if rounds:
        change = (max(watched) / max(alone) - 1) * 100
        print("pairs a second of CPU time: alone %.0f, watched %.0f: %+.2f %%" % (max(alone), max(watched), change))
    child.stdin.close()
    child.wait()
sys.exit(wrong)
