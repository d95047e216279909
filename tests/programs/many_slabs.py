# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""many_slabs.py CLI PROGRAM SLABS [ROUNDS]: how long `drystone info` and `drystone map` read a process of so many slabs, and what it
costs the process to be looked at: CPU time of a pair of malloc and free in short turns alone, under `info --watch` and under `top`, which are
stopped between theirs; the median of a turn's ratio to the one alone beside it, as the machine's speed changes from second to second. So that
the figure stands out of the noise it is looked at RATE times a second; the loss of one look a second is that part of it which the looks there
really were allow."""
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile

cli, program, slabs = sys.argv[1], sys.argv[2], int(sys.argv[3])
rounds, seconds = int(sys.argv[4]) if len(sys.argv) > 4 else 20, 0.1
RATE = 10
MOST = 3  # per cent, with other tests beside it; by itself, of 15 turns: -0.1 to +0.5
watchers = {"alone": [], "info --watch": ["info", "--watch=%g" % (1 / RATE)], "top": ["top", "--batch", "--delay=%g" % (1 / RATE)]}


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
    cost = {name: [] for name in watchers}
    seen = {name: tempfile.TemporaryFile("w+") for name in watchers}
    watching = {name: subprocess.Popen([cli, *command, pid], stdout=seen[name]) for name, command in watchers.items() if command}
    for watcher in watching.values():
        watcher.send_signal(signal.SIGSTOP)
    for name in list(watchers) * rounds:
        if name in watching:
            watching[name].send_signal(signal.SIGCONT)
        child.stdin.write("\n")
        child.stdin.flush()
        cost[name].append(seconds / int(child.stdout.readline()))
        if name in watching:
            watching[name].send_signal(signal.SIGSTOP)
    for name, watcher in watching.items():
        assert watcher.poll() is None, "it ended"
        watcher.kill()
        watcher.wait()
        seen[name].seek(0)
        rate = len(re.findall(r"^drystone top -|^\w+, process \d+:", seen[name].read(), re.M)) / (seconds * rounds)
        loss = (statistics.median(watched / alone for watched, alone in zip(cost[name], cost["alone"])) - 1) * 100
        print("%s: a pair takes %.2f ns, alone %.2f: %+.2f %% at %.1f looks a second, %+.2f %% at one" %
              (name, min(cost[name]) * 1e9, min(cost["alone"]) * 1e9, loss, rate, loss / rate))
        wrong = wrong or rate < 1 or loss / rate >= MOST
    child.stdin.close()
    child.wait()
sys.exit(wrong)
