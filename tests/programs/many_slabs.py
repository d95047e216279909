# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""many_slabs.py CLI PROGRAM SLABS [ROUNDS SECONDS]: how long `drystone info` and `drystone map` read a process of so many slabs, and what it
costs the process to be looked at: CPU time of a pair of malloc and free, by turns alone, under `info --watch` and under `top`, the least of
each. So that the figure stands out of the machine's noise it is looked at RATE times a second; the loss of one look a second is that part of
it which the looks there really were allow."""
import os
import re
import subprocess
import sys
import tempfile

cli, program, slabs = sys.argv[1], sys.argv[2], int(sys.argv[3])
rounds, seconds = (int(sys.argv[4]), float(sys.argv[5])) if len(sys.argv) > 4 else (7, 0.4)
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
    cost, looks = {name: [] for name in watchers}, dict.fromkeys(watchers, 0)
    for name in list(watchers) * rounds:
        with tempfile.TemporaryFile("w+") as seen:
            watcher = subprocess.Popen([cli, *watchers[name], pid], stdout=seen) if watchers[name] else None
            child.stdin.write("\n")
            child.stdin.flush()
            cost[name].append(seconds / int(child.stdout.readline()))
            if watcher:
                assert watcher.poll() is None, "it ended"
                watcher.kill()
                watcher.wait()
                seen.seek(0)
                looks[name] += len(re.findall(r"^drystone top -|^\w+, process \d+:", seen.read(), re.M))
    for name in list(watchers)[1:]:
        rate = looks[name] / (seconds * rounds)
        loss = (min(cost[name]) / min(cost["alone"]) - 1) * 100
        print("%s: a pair takes %.2f ns, alone %.2f: %+.2f %% at %.1f looks a second, %+.2f %% at one" %
              (name, min(cost[name]) * 1e9, min(cost["alone"]) * 1e9, loss, rate, loss / rate))
        wrong = wrong or rate < 1 or loss / rate >= MOST
    child.stdin.close()
    child.wait()
sys.exit(wrong)
