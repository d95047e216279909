# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The command: what is measured, how often, where the results go."""
import argparse
import sys
import tempfile
import time
from pathlib import Path

import allocators
from drystone_experiments import plot, worker
from drystone_experiments.cli import Progress
from drystone_experiments.report import About

from . import bars, counts, measure, order, programs, report, rows
from .figures import COLUMNS, COUNT_COLUMNS, RUN_COLUMNS, Figures, Table, label, read
from .measure import Failed

QUICK_SCALE = 0.1
LEFT_OUT = ("tbbmalloc",)  # unless it is asked for: the expected table has it not


class Suite:
    """One run: its tables, and what was left out."""

    def __init__(self, options, ctx, found, chosen, tools):
        self.options, self.ctx, self.allocators, self.rows, self.tools = options, ctx, found, chosen, tools
        out = options.csv
        self.records = Table(out, COLUMNS)
        self.runs = Table(beside(out, "runs"), RUN_COLUMNS)
        beside(out, "counts").unlink(missing_ok=True)  # those of an earlier run are not of these figures
        self.counts = Table(beside(out, "counts"), COUNT_COLUMNS) if options.callgrind else None
        self.progress = Progress()
        self.done, self.all = 0, len(chosen) * len(found) * options.rounds

    def tell(self, text):
        spent = time.monotonic() - self.progress.began
        left = f", {spent / self.done * (self.all - self.done):.0f} s to go" if self.done > len(self.allocators) else ""
        self.progress(f"{100 * self.done // max(self.all, 1):3d} %{left}: {text}")

    def problem(self, text):
        self.progress.end()
        allocators.say("suite: " + text)

    def once(self, row, name, number):
        """One process (or server); False: it failed."""
        record = {"kind": row.kind, "row": row.name, "pattern": row.pattern, "threads": row.threads, "allocator": name, "round": number}
        library = self.allocators[name]
        try:
            if row.kind == "program":
                record.update(self.tools[row.name].run(self.ctx, row.name, library, self.tools[row.name].find()), status="ok")
            else:
                idle = number == 1 and row.pattern in rows.HELD and self.ctx.scale >= measure.FULL
                figures, runs = measure.pattern(self.ctx, row, library, idle)
                record.update(figures, status="ok")
                for size, malloc_ns, free_ns in runs:
                    self.runs.add(dict(zip(RUN_COLUMNS, (row.threads, size, name, number, malloc_ns, free_ns))))
        except (Failed, OSError) as error:
            record["status"] = f"failed: {error}"
            self.problem(f"{row.name} under {name} failed: {error}")
        self.records.add(record)
        return record["status"] == "ok"

    def row(self, row):
        failed = set()
        for number in range(1, self.options.rounds + 1):
            turn = list(self.allocators)
            if number % 2 == 0:
                turn.reverse()
            for name in turn:
                if self.progress.tty or (number == 1 and name == turn[0]):
                    self.tell(f"{row.name} round {number} {label(name)}")
                if name not in failed and not self.once(row, name, number):
                    failed.add(name)
                self.done += 1

    def measure(self):
        for row in self.rows:
            self.row(row)
        self.progress.end()

    def count(self):
        """Under callgrind; which rows, COUNTED says."""
        names = rows.COUNTED if not self.options.only else [row.name for row in self.rows if row.threads == 1]
        for row in [row for row in rows.pattern_rows() if row.name in names]:
            for name, library in self.allocators.items():
                self.progress(f"callgrind: {row.name} {label(name)}")
                try:
                    self.counts.add({"row": row.name, "allocator": name, **counts.count(self.ctx, row, library)})
                except (Failed, worker.Failed, OSError) as error:
                    self.problem(f"callgrind: {row.name} under {name} failed: {error}")
        self.progress.end()


def beside(path, word):
    return path.with_name(f"{path.stem}-{word}.csv")


def parse(arguments):
    names = [row.name for row in rows.pattern_rows()]
    parser = argparse.ArgumentParser(
        prog="bench/suite/run", description="drystone and its peers in patterns of programs and in real programs.",
        epilog="Rows: " + " ".join(names) + "; programs: " + " ".join(p.name for p in programs.PROGRAMS) + ". Environment: BUILD "
        "(folder of libdrystone.so), CC, CXX.")
    parser.add_argument("--quick", action="store_true", help="under 5 minutes: a tenth of the work, 2 rounds")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds of each row (default 5; with --quick 2)")
    parser.add_argument("--only", action="append", default=[], metavar="ROW",
                        help="a row (server-8), a pattern with all its threads (server), a program, `patterns` or `programs`; may be repeated")
    parser.add_argument("--scale", type=float, metavar="X", help="how much work, 1 being a full run")
    allocators.add_options(parser)
    parser.add_argument("--callgrind", action="store_true", help="also count instructions and cache misses per operation, on some rows "
                        "or those of --only that have one thread; minutes more")
    parser.add_argument("--csv", type=Path, metavar="FILE", default=allocators.BUILD / "bench-suite.csv",
                        help="where the figures go (default: BUILD/bench-suite.csv; runs of one size and callgrind's counts beside it)")
    parser.add_argument("--html", type=Path, metavar="FILE", help="the report (default: the name of the CSV file with .html)")
    parser.add_argument("--no-plots", action="store_true", help="a report without plots, sooner")
    parser.add_argument("--from", dest="source", type=Path, metavar="CSV", help="measure nothing: report on these figures again")
    parser.add_argument("--markdown", action="store_true", help="print the short table of the README")
    parser.add_argument("--check-order", action="store_true", help="compare the order of the peers with the one that is expected; "
                        "exit status 1 if it differs")
    options = parser.parse_args(arguments)
    options.rounds = options.rounds if options.rounds is not None else 2 if options.quick else 5
    options.scale = options.scale if options.scale is not None else QUICK_SCALE if options.quick else 1.0
    if options.rounds < 1 or options.scale <= 0:
        parser.error("--rounds is at least 1, --scale above 0")
    if options.callgrind and not worker.have_callgrind():
        parser.error("--callgrind: no valgrind")
    options.given = allocators.given_peers(parser, options.peer)
    every = rows.pattern_rows() + [rows.program_row(p.name, p.what) for p in programs.PROGRAMS]
    if rows.unknown(every, options.only):
        parser.error(f"--only {' '.join(rows.unknown(every, options.only))}: no such row")
    return options, rows.chosen(every, options.only)


def installed(chosen):
    """(rows that can be run, {name: program}, why others are left out)"""
    tools = {p.name: p for p in programs.PROGRAMS}
    absent = [row for row in chosen if row.kind == "program" and tools[row.name].find() is None]
    skipped = [f"{row.name}: {tools[row.name].needs} not installed" for row in absent]
    return [row for row in chosen if row not in absent], tools, skipped


def run(options, chosen):
    """(records, runs, counts, skipped, whether it was interrupted)"""
    allocators.need_build()
    if not options.no_fetch:
        allocators.fetch(True)
    found = allocators.find(options.peers.split(",") if options.peers else None, options.given)
    if not options.peers:
        found = {name: path for name, path in found.items() if name not in LEFT_OUT or name in options.given}
    measure.build()
    chosen, tools, skipped = installed(chosen)
    for line in skipped:
        allocators.say("suite: left out: " + line)
    interrupted = False
    with tempfile.TemporaryDirectory(prefix="drystone-suite-") as folder:
        Path(folder).chmod(0o755)
        suite = Suite(options, measure.Context(folder, options.scale), found, chosen, tools)
        try:
            suite.measure()
            if options.callgrind:
                suite.count()
        except KeyboardInterrupt:
            suite.problem("interrupted: what there is so far is written")
            interrupted = True
    return suite.records.rows, suite.runs.rows, suite.counts.rows if suite.counts else [], skipped, interrupted


def versions(names, given):
    told = [f"{label(name)}: {allocators.version(name, given.get(name))}" for name in names if name not in ("drystone", "glibc")]
    return ["Peers: " + "; ".join(told) + "."] if told else []


def load(path):
    """What an earlier run wrote."""
    try:
        records = read(path, COLUMNS)
        runs = read(beside(path, "runs"), RUN_COLUMNS) if beside(path, "runs").exists() else []
        counted = read(beside(path, "counts"), COUNT_COLUMNS) if beside(path, "counts").exists() else []
    except (OSError, ValueError) as error:
        sys.exit(f"suite: {error}")
    return records, runs, counted, [], False


def main(arguments):
    options, chosen = parse(arguments)
    about = About(options.quick)
    try:
        records, runs, counted, skipped, interrupted = load(options.source) if options.source else run(options, chosen)
    except KeyboardInterrupt:
        return 130
    about.done()
    figures = Figures(records)
    if not figures.values:
        allocators.say("suite: nothing was measured")
        return 130 if interrupted else 1
    orders = order.compare(figures)
    plot.wanted = not options.no_plots
    found = bars.bars(figures, runs)
    html = options.html or (options.source or options.csv).with_suffix(".html")
    page = report.Page(figures, runs, counted, found, orders)
    if not options.source:
        page.skipped, page.about = skipped, about.lines() + versions(figures.allocators, options.given)
    html.write_text(page.html(), encoding="utf-8")
    if options.markdown:
        print(report.markdown(figures))
    else:
        print("\n".join(report.console(figures, found)))
    if options.check_order:
        print("\n".join(order.lines(orders)))
    print(f"{options.source or options.csv}; {html}", file=sys.stderr)
    if interrupted:
        return 130
    return 1 if figures.failed or (options.check_order and (order.differs(orders) or not orders)) else 0
