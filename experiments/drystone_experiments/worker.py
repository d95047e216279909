# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Starting the workers, reading their tables, and the arithmetic on rounds."""
import os
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path


class Failed(Exception):
    pass


class Context:
    """What a run has at hand: where things are, how big it is, where progress goes."""

    def __init__(self, workers, data, quick, say):
        self.workers, self.data, self.quick, self.say = Path(workers), Path(data), quick, say
        self.slabinfo = None  # a user's own listing, for the census

    def size(self, full, quick):
        return quick if self.quick else full


def environment(counting):
    """counting: nothing that depends on the scheduler; a slot for each thread, no helper thread."""
    env = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "DRYSTONE_CONF", "GLIBC_TUNABLES")}
    if counting:
        env["GLIBC_TUNABLES"] = "glibc.pthread.rseq=0"
        env["DRYSTONE_CONF"] = "background:0"
    return env


def parse(text):
    """(notes, rows): notes from lines "# key value", rows as dictionaries with numbers where they are numbers."""
    notes, rows, header = {}, [], None
    for line in text.splitlines():
        if line.startswith("# "):
            key, _, value = line[2:].partition(" ")
            notes[key] = value
        elif header is None:
            header = line.split("\t")
        else:
            rows.append(dict(zip(header, map(number, line.split("\t")))))
    return notes, rows


def number(text):
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


def execute(command, counting, given=None, timeout=600):
    try:
        done = subprocess.run([str(part) for part in command], env=environment(counting), input=given,
                              capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise Failed("%s: no end after %d s" % (command[0], timeout)) from None
    except OSError as error:
        raise Failed("%s: %s" % (command[0], error.strerror)) from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise Failed("%s: exit status %d: %s" % (Path(command[0]).name, done.returncode, last))
    return done


def find(ctx, name, folder):
    """A program that lies with the workers where it is installed, and in `folder` of the build; None: it was not built."""
    for path in (ctx.workers / name, ctx.workers.parent.parent / folder / name):
        if path.exists():
            return path
    return None


def run(ctx, name, *arguments, counting=False, given=None):
    return parse(execute([ctx.workers / name, *arguments], counting, given).stdout)


# One set of caches for every machine, so that counts can be compared.
CALLGRIND_CACHES = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=2097152,16,64"]


def have_callgrind():
    return shutil.which("valgrind") is not None


def callgrind_tool(folder):
    return ["valgrind", "--tool=callgrind", "--cache-sim=yes", *CALLGRIND_CACHES, "--callgrind-out-file=%s/out" % folder]


def callgrind_of(command, options=(), parts=None):
    """Events of a program under callgrind; a list of them for the parts with these numbers, if it writes several."""
    with tempfile.TemporaryDirectory() as folder:
        execute([*callgrind_tool(folder), *options, *command], True)
        if parts is None:
            return totals(Path(folder) / "out")
        return [totals(Path(folder) / ("out.%d" % i)) for i in parts]


def callgrind(ctx, name, *arguments, functions, marks=()):
    """
    Events inside of `functions` (they must not call each other; none: everywhere), a dictionary for each part that ends at one of
    `marks`, functions of the worker; what came before the first mark is left out. Without marks one, of the whole run.
    """
    options = ["--toggle-collect=" + function for function in functions] + ["--dump-before=" + mark for mark in marks]
    command = [ctx.workers / name, *arguments]
    if not marks:
        return [callgrind_of(command, options)]
    return callgrind_of(command, options, range(2, len(marks) + 1))  # out.1 ends at the first mark


def misses(events):
    """(first level, last level), of data."""
    return events["D1mr"] + events["D1mw"], events["DLmr"] + events["DLmw"]


def totals(path):
    events, values = [], []
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        raise Failed("callgrind counted nothing") from None
    for line in text.splitlines():
        if line.startswith("events:"):
            events = line.split()[1:]
        elif line.startswith("totals:") or (line.startswith("summary:") and not values):
            values = [int(word) for word in line.split()[1:]]
    return dict(zip(events, values + [0] * (len(events) - len(values))))


# ---- rounds ---------------------------------------------------------------------

def pick(rows, **wanted):
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def median_of(rows, column):
    return statistics.median(row[column] for row in rows)


def ratios(rows, column, variant, base):
    """variant to base, round by round."""
    bottom = {row["round"]: row[column] for row in rows if row["variant"] == base}
    return [row[column] / bottom[row["round"]] for row in rows
            if row["variant"] == variant and bottom.get(row["round"])]


def spread(values):
    """Median and quartiles."""
    if not values:
        return None
    if len(values) < 3:
        return statistics.median(values), min(values), max(values)
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return statistics.median(values), low, high


def spread_text(values):
    found = spread(values)
    return "%.2f [%.2f–%.2f]" % found if found else "–"


def geometric_mean(values):
    values = list(values)
    return statistics.geometric_mean(values) if values else None


def percent(ratio, less="less"):
    """0.65: "35 % less"; 1.2: "20 % more"."""
    change = round((ratio - 1) * 100)
    return "as much" if change == 0 else "%d %% %s" % (abs(change), less if change < 0 else "more")


def fewer(ratio):
    return "as many" if round((ratio - 1) * 100) == 0 else percent(ratio, "fewer")
