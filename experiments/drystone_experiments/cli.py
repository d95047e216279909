# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The command: which experiments, how big, where the results go."""
import argparse
import importlib
import json
import os
import sys
import time
from pathlib import Path

from . import plot, report, worker

NAMES = ["census", "repeat", "contention", "freelist", "chained", "segregated", "critics"]


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="drystone experiment", description="Repeat what the documents behind drystone measured.",
        epilog="Experiments: " + ", ".join(NAMES) + "; all: every one of them.")
    parser.add_argument("name", nargs="+", choices=NAMES + ["all"], metavar="NAME", help="an experiment, or all")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--out", type=Path, metavar="FOLDER",
                        help="write report.html, report.md and a CSV file for each experiment (all: default drystone-experiments)")
    parser.add_argument("--quick", action="store_true", help="a reduced size, to see that it works")
    parser.add_argument("--slabinfo", metavar="FILE", help="census: of this listing, in the format of /proc/slabinfo")
    parser.add_argument("--workers", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if "all" in options.name:
        options.name = NAMES
        options.out = options.out or Path("drystone-experiments")
    if options.slabinfo and options.name != ["census"]:
        parser.error("--slabinfo is for the census")
    return options


class Progress:
    def __init__(self):
        self.began, self.tty, self.prefix = time.monotonic(), sys.stderr.isatty(), ""

    def __call__(self, text):
        line = "[%4d s] %s%s" % (time.monotonic() - self.began, self.prefix, text)
        print("\r\033[K" + line if self.tty else line, end="" if self.tty else "\n", file=sys.stderr, flush=True)

    def end(self):
        if self.tty:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def run_all(options, ctx, progress):
    results = []
    for i, name in enumerate(options.name, 1):
        progress.prefix = "%d/%d %s: " % (i, len(options.name), name)
        progress("")
        began = time.monotonic()
        result = importlib.import_module("." + name, __package__).run(ctx)
        result.seconds = time.monotonic() - began
        results.append(result)
    return results


def main(arguments, workers, data):
    options = parse(arguments)
    progress = Progress()
    ctx = worker.Context(options.workers or workers, data, options.quick, progress)
    ctx.slabinfo = options.slabinfo
    about = report.About(options.quick)
    plot.wanted = options.out is not None
    try:
        results = run_all(options, ctx, progress)
    except (worker.Failed, OSError) as error:
        progress.end()
        print("drystone: experiment: %s" % error, file=sys.stderr)
        return 1
    progress.end()
    about.done()
    try:
        show(options, results, about)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter tries again, and complains
        return 1
    except OSError as error:
        print("drystone: experiment: %s" % error, file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0


def show(options, results, about):
    if options.out:
        if not plot.available():
            print("drystone: experiment: no matplotlib (Debian: python3-matplotlib), so the report has no plots", file=sys.stderr)
        report.write(options.out, results, about)
    if options.json:
        print(json.dumps(results[0].as_json() if len(results) == 1 else [r.as_json() for r in results], indent=1))
    elif options.out:
        for result in results:
            print("%-12s %s" % (result.name, result.verdict))
        print("%s; %d s" % (options.out / "report.html", round(about.seconds)))
    else:
        print("\n".join(report.section_md(i, r, about) for i, r in enumerate(results, 1)))
