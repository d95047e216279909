#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""
The benchmark suite: every pattern runs under drystone and glibc at a tiny scale, its tables and its page are whole; an allocator
that hands out a block twice is found out and reported; an interrupted run keeps what it has; the order of peers is judged.
"""
import csv
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(TOP / "tests/experiments"), str(TOP / "bench/suite"), str(TOP / "bench"), str(TOP / "experiments")]
os.environ["BUILD"] = os.path.dirname(os.environ.get("DRYSTONE_CLI", "build/drystone")) or "."

from common import check, equal, ok  # noqa: E402
from page import whole_page  # noqa: E402
from drystone_suite import figures, measure, order, programs, rows  # noqa: E402

RUN = [sys.executable, "-B", str(TOP / "bench/suite/run"), "--no-fetch"]
# Every 500th block is handed out a second time.
BAD_MALLOC = """
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
static char *at, *end, *last;
static size_t last_size, count;
void *malloc(size_t size)
{
	size = (size + 31) & ~(size_t)15;
	if (size > 16384 || end - at < (long)size) {
		size_t room = size > 16384 ? size : 1 << 24;
		at = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		end = at + room;
	} else if (++count % 500 == 0 && last_size >= size) {
		return last;
	}
	last = at;
	last_size = size;
	at += size;
	return last;
}
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t size) { return memset(malloc(n * size), 0, n * size); }
"""


def run(*arguments, status=0, plots=("--no-plots",)):
    done = subprocess.run([*RUN, *plots, *map(str, arguments)], capture_output=True, text=True, timeout=200, check=False)
    check(done.returncode == status, "run %s: exit status %d, not %d: %s" % (
        " ".join(map(str, arguments)), done.returncode, status, (done.stdout + done.stderr).strip()[-800:]))
    return done


def table(path):
    with open(path, newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    check(lines and None not in lines[0] and all(None not in line.values() for line in lines), f"{path} is no table")
    return lines


def test_patterns(folder):
    """Each pattern, and one real program."""
    out = folder / "all.csv"
    (folder / "all-counts.csv").write_text("of another run\n", encoding="utf-8")
    done = run("--scale", "0.0005", "--rounds", "1", "--only", "patterns", "--only", "python3", "--peers", "glibc", "--csv", out,
               plots=())
    lines = table(out)
    equal(",".join(lines[0]), ",".join(figures.COLUMNS), "columns")
    names = [row.name for row in rows.pattern_rows()] + ["python3"]
    equal([(line["row"], line["allocator"]) for line in lines], [(name, a) for name in names for a in ("drystone", "glibc")], "rows")
    for line in lines:
        equal(line["status"], "ok", line["row"])
        for column in ("wall_s", "peak_kib", "final_kib", "faults"):
            check(float(line[column]) > 0, "%s of %s is %s" % (column, line["row"], line[column]))
        check(line["kind"] == "program" or int(line["ops"]) > 0, "no operations in " + line["row"])
        equal(line["live_bytes"] != "", line["pattern"] in rows.HELD, "live bytes at the end of " + line["row"])
    check(not (folder / "all-counts.csv").exists(), "counts of an earlier run stay")
    runs = table(folder / "all-runs.csv")
    equal({(r["threads"], r["size"]) for r in runs}, {(t, r["size"]) for t in "12" for r in runs}, "runs of one size")
    check(len({r["size"] for r in runs}) == 13 and all(float(r["malloc_ns"]) > 0 and float(r["free_ns"]) > 0 for r in runs), "ns of runs")
    check_page(folder / "all.html", ["summary", "pattern", "program", "runs", "drift", "order"], names)
    for name in names:
        check("\n" + name in done.stdout, "no line for " + name)
    return out


def check_page(path, ids, texts):
    page, text = whole_page(path)
    equal([name for name in page.ids if name in ids], ids, "parts of the page")
    for word in texts:
        check(f">{word}<" in text, "the page does not have " + word)
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return
    check(page.seen.get("svg", 0) >= 6, "plots")


def test_again(folder, out):
    """From the figures alone: the same tables, and the table of the README."""
    before = (folder / "all.html").read_text(encoding="utf-8")
    done = run("--from", out, "--html", folder / "again.html", "--markdown")
    after = (folder / "again.html").read_text(encoding="utf-8")
    equal(before[before.index('<section id="pattern"'):] == after[after.index('<section id="pattern"'):], True, "the tables from the figures is the same")
    lines = done.stdout.splitlines()
    equal(len({line.count("|") for line in lines}), 1, "columns of the Markdown table")
    check(lines[0].startswith("| geometric mean | drystone | glibc") and lines[2].startswith("| time, %d patterns" % len(rows.pattern_rows())),
          "Markdown table: " + done.stdout)


def test_failure(folder):
    source, library, out = folder / "bad.c", folder / "bad.so", folder / "bad.csv"
    source.write_text(BAD_MALLOC, encoding="utf-8")
    subprocess.run([*os.environ.get("CC", "cc").split(), "-shared", "-fPIC", "-O1", "-fno-builtin", source, "-o", library], check=True)
    done = run("--scale", "0.001", "--rounds", "2", "--only", "powerlaw_few-1", "--only", "trees-1", "--peers", "glibc",
               "--peer", f"bad={library}", "--csv", out, status=1)
    status = {(line["row"], line["allocator"], line["round"]): line["status"] for line in table(out)}
    check("was changed" in status["powerlaw_few-1", "bad", "1"], "a block was handed out twice: %r" % status)
    check(("powerlaw_few-1", "bad", "2") not in status, "it is tried again")
    for name in ("drystone", "glibc"):
        equal(status["powerlaw_few-1", name, "2"], "ok", "the others go on")
    check("FAILED: powerlaw_few-1 under bad: exit status 1" in done.stdout, "the failure is told: " + done.stdout)
    check("Failed: powerlaw_few-1 under bad" in (folder / "bad.html").read_text(encoding="utf-8"), "the failure is on the page")
    run("--scale", "0.001", "--rounds", "1", "--only", "trees-1", "--peers", "glibc", "--peer", "other=/lib64/ld-linux-x86-64.so.2",
        "--csv", out, status=1)
    check(any("preload did not take" in line["status"] for line in table(out) if line["allocator"] == "other"), "a preload that did not take")


def test_own_malloc(folder):
    """Programs with a malloc of their own are noticed: nothing that is preloaded serves them."""
    program, library = folder / "own", str(Path(os.environ["BUILD"]).resolve() / "libdrystone.so")
    (folder / "own.c").write_text(BAD_MALLOC + "int main(void) { return malloc(9) == NULL; }\n", encoding="utf-8")
    subprocess.run([*os.environ.get("CC", "cc").split(), "-O1", "-fno-builtin", folder / "own.c", "-o", program], check=True)
    ctx = measure.Context(folder, 1)
    try:
        measure.taking(ctx, library, [program])
        check(False, "a program with a malloc of its own passes")
    except measure.Failed as error:
        check("served by " + str(program) in str(error), "why it fails: %s" % error)
    equal(measure.taking(ctx, library, ["/bin/true"]), library, "a program without one")
    equal(measure.taking(ctx, None, ["/bin/true"]), None, "the C library's own")


def test_copies(folder):
    """Two libraries of one name, for a program that runs as another user."""
    ctx = measure.Context(folder, 1)
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "lib.so").write_text(name, encoding="utf-8")
    ctx.folder = folder / "of the run"
    ctx.folder.mkdir()
    copies = [measure.copy_for_all(ctx, str(folder / name / "lib.so")) for name in ("one", "two", "one")]
    equal([Path(copy).read_text(encoding="utf-8") for copy in copies], ["one", "two", "one"], "copies")
    equal([Path(copy).name for copy in copies], ["lib.so"] * 3, "their names")
    equal(measure.copy_for_all(ctx, copies[0]), copies[0], "a copy of a copy")


def test_interrupt(folder):
    out = folder / "part.csv"
    with subprocess.Popen([*RUN, "--no-plots", "--scale", "0.01", "--rounds", "500", "--only", "minimise", "--peers", "glibc", "--csv", str(out)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for _ in range(3000):
            if out.exists() and len(out.read_text(encoding="utf-8").splitlines()) > 4:
                break
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        text, errors = process.communicate(timeout=60)
    equal(process.returncode, 130, "status of an interrupted run: " + errors[-300:])
    check(len(table(out)) >= 4 and "\nminimise-1" in text and "interrupted" in errors, "what an interrupted run says: " + text + errors)
    whole_page(folder / "part.html")


def invented(folder, name, swap):
    """Figures in which the peers stand as expected, or with two of them swapped in one pattern."""
    path = folder / name
    out = figures.Table(path, figures.COLUMNS)
    for kind, row in (("pattern", "trees-1"), ("pattern", "server-8"), ("program", "lua")):
        times, peaks = (next(e for k, c, e in order.EXPECTED.values() if (k, c) == (kind, column)) for column in ("wall_s", "peak_kib"))
        for allocator in ["drystone", *times]:
            wall = times.get(allocator, 1.0) * (2 if swap and row == "server-8" and allocator == "snmalloc" else 1)
            out.add({"kind": kind, "row": row, "pattern": row, "threads": 1, "allocator": allocator, "round": 1, "wall_s": wall, "user_s": wall,
                     "system_s": 0.1, "peak_kib": int(1e5 * peaks.get(allocator, 0.5)), "faults": 1, "status": "ok"})
    out.file.close()
    return path


def test_order(folder):
    done = run("--from", invented(folder, "right.csv", False), "--check-order")
    equal(done.stdout.count("agreement 1.00"), 4, "the same order: " + done.stdout)
    # drystone's time is 1.0 there, its peak 0.5: against 0.940 and 0.961, and against glibc's 0.556 twice and 0.844.
    for what, value in (("time of the patterns", "1.06  0.95  MISSED       to mimalloc 2"),
                        ("time of the programs", "1.04  0.97  MISSED       to mimalloc 2"),
                        ("peak memory, geometric mean to the leanest single", "0.78  1.00  reached      to glibc"),
                        ("time of a program to the best peer on it", "1.04  1.05  reached      lua, to mimalloc 2")):
        check(any(what in line and line.endswith(value) for line in done.stdout.splitlines()), what + ": " + done.stdout)
    done = run("--from", invented(folder, "wrong.csv", True), "--check-order", status=1)
    check("DIFFERS snmalloc / jemalloc: expected 0.865, here 1.223; most in server-8" in done.stdout, "another order: " + done.stdout)


def test_failing(folder):
    """A peer that fails everywhere, the base even, or in all programs takes no mean and no bar with it."""
    path = invented(folder, "failing.csv", False)
    lines = table(path)
    out = figures.Table(path, figures.COLUMNS)
    for line in lines:
        if line["allocator"] == "mimalloc" or (line["allocator"], line["kind"]) == ("glibc", "program"):
            line.update(dict.fromkeys(figures.COLUMNS[6:], ""), status="failed: it does not start")
        out.add(line)
    out.file.close()
    done = run("--from", path, status=1)
    shown = done.stdout.split("\n\n")
    check("mimalloc 2 = 1" in shown[1] and "time, 2 patterns, without mimalloc 3 " in shown[1] and
          "time, 1 programs, without mimalloc 3, without glibc " in shown[1], "means: " + shown[1])
    bar = next(line for line in shown[2].splitlines() if "time of the patterns" in line)
    check(bar.endswith("1.06  0.95  MISSED       to mimalloc 2"), "bars: " + shown[2])
    run("--from", path, "--markdown", status=1)


def test_calls(folder):
    check("no such row" in run("--only", "nothing", status=2).stderr, "an unknown row")
    check("known:" in run("--peers", "nobody", status=1).stderr, "an unknown peer")
    check("missing.csv" in run("--from", folder / "missing.csv", status=1).stderr, "no figures")
    (folder / "other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    check("not a table of the suite" in run("--from", folder / "other.csv", status=1).stderr, "other figures")
    check("--check-order" in run("--help").stdout, "help")
    for program in programs.PROGRAMS:
        check(program.find() is None or all(os.path.exists(path) for path in program.find()), "where %s is" % program.name)


with tempfile.TemporaryDirectory() as where:
    where = Path(where)
    test_again(where, test_patterns(where))
    test_failure(where)
    test_own_malloc(where)
    test_copies(where)
    test_interrupt(where)
    test_order(where)
    test_failing(where)
    test_calls(where)
ok("bench/suite")
