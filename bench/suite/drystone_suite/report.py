# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""What is shown of the figures: text, Markdown, one HTML file with nothing from outside."""
import html
from pathlib import Path

from drystone_experiments import plot
from drystone_experiments import report as experiments
from drystone_experiments.result import Plot
from drystone_experiments.result import Table as Shown

from . import bars, order
from .figures import TIME, distinct, label, run_least
from .rows import HELD

INTRODUCTION = (
    "Each row is run under every allocator by turns. A time is the least of the rounds, memory and faults the median. Ratios are to the best "
    "peer of the row, drystone left out, and a geometric mean is over the rows in which every allocator has a figure, but for "
    "those that have none. "
    "docs/bench-suite.md says what the rows are and how they are measured.")
PLOTTED = ("drystone", "mimalloc", "snmalloc", "mimalloc2", "glibc")  # as many as lines can be told apart
KINDS = {"pattern": "Patterns", "program": "Programs"}
DASH = "–"


def text(value, form="%.2f"):
    return form % value if value is not None else DASH


def summary(figures):
    """[(what, {allocator: mean}, number of rows)]"""
    found = []
    for what, column in (("time", TIME), ("peak resident memory", "peak_kib"), ("user and system time", "cpu_s")):
        for kind, name in (("pattern", "patterns"), ("program", "programs")):
            rows = figures.rows(kind)
            means = figures.relative(column, rows)
            if means:
                without = "".join(f", without {label(a)}" for a in figures.left_out(column, rows))
                found.append((f"{what}, {len(figures.complete(column, rows))} {name}{without}", means))
    return found


def by_mean(figures):
    """drystone, then the peers as they are in the first line of the summary."""
    lines = summary(figures)
    means = lines[0][1] if lines else {}
    return sorted(figures.allocators, key=lambda a: (a != "drystone", means.get(a, 9)))


def markdown(figures):
    """The short table of the README; the best peer of a line in bold."""
    names = by_mean(figures)
    out = ["| geometric mean | " + " | ".join(label(a) for a in names) + " |", "|---" * (len(names) + 1) + "|"]
    for what, means in summary(figures):
        best = min((means[a] for a in figures.peers if a in means), default=None)
        cells = [text(means.get(a), "**%.3f**" if means.get(a) == best and a in figures.peers else "%.3f") for a in names]
        out.append(f"| {what} | " + " | ".join(cells) + " |")
    return "\n".join(out)


def console(figures, found):
    names = by_mean(figures)
    width = max(map(len, [*figures.kinds, *(what for what, _ in summary(figures)), " " * 38]))

    def line(head, cells):
        return f"{head:{width}}" + "".join(f"{cell:>11.10}" for cell in cells)
    yield "Time to the best peer of each row (1.00), and its seconds"
    yield line("", [*names, "seconds"])
    for row in figures.rows():
        best = figures.best(row, TIME)
        yield line(row, [text(figures.to_best(row, a, TIME)) for a in names] + [text(best and best[0], "%.3f")])
    yield f"\nGeometric means, {label(figures.base)} = 1"
    yield line("", names)
    for what, means in summary(figures):
        yield line(what, [text(means.get(a), "%.3f") for a in names])
    yield "\nBars"
    for bar in found:
        yield "  %-82s %7s %5s  %-12s %s" % (bar.what, text(bar.value), text(bar.limit), bars.verdict(bar), bar.where)
    for record in distinct_failures(figures):
        yield "FAILED: " + record


def distinct_failures(figures):
    return distinct(f"{r['row']} under {label(r['allocator'])}: {r['status'][8:]}" for r in figures.failed)


class Page:
    def __init__(self, figures, runs, counted, found, orders):
        self.figures, self.runs, self.counted, self.found, self.orders = figures, runs, counted, found, orders
        self.skipped, self.about, self.names = [], ["Made from figures that were measured before."], by_mean(figures)

    # ---- tables ----

    def header(self, *more):
        return ["", *map(label, self.names), *more]

    def means(self):
        rows = [[what, *[text(means.get(a), "%.3f") for a in self.names]] for what, means in summary(self.figures)]
        return Shown(f"Geometric means, {label(self.figures.base)} = 1", self.header(), rows)

    def bars(self):
        rows = [[bars.verdict(bar) or DASH, text(bar.value), text(bar.limit), bar.what, bar.where] for bar in self.found]
        return Shown("Bars: what drystone is to reach", ["", "here", "bar", "what", "where"], rows)

    def ratios(self, caption, column, kind, scale, unit):
        """Ratios to the best peer, and beside them the best peer's own figure."""
        rows = []
        for row in self.figures.rows(kind):
            best = self.figures.best(row, column)
            if best:
                rows.append([row, *[text(self.figures.to_best(row, a, column)) for a in self.names], "%.3g" % (best[0] * scale)])
        means = self.figures.means(column, self.figures.rows(kind))
        if means:
            rows.append(["geometric mean", *[text(means.get(a)) for a in self.names], DASH])
        return Shown(caption, self.header(unit), rows)

    def absolute(self, caption, kind, cell, note=""):
        rows = [[row, *[cell(row, a) for a in self.names]] for row in self.figures.rows(kind)]
        rows = [row for row in rows if any(value != DASH for value in row[1:])]
        return Shown(caption, self.header(), rows, note)

    def seconds(self, row, allocator):
        """least / median; user + system of the least"""
        f = self.figures
        return "%s / %s (%s + %s)" % (
            text(f.get(row, allocator, TIME), "%.3f"), text(f.median(row, allocator, TIME), "%.3f"),
            text(f.get(row, allocator, "user_s")), text(f.get(row, allocator, "system_s"))) if f.get(row, allocator, TIME) else DASH

    def mib(self, column):
        def cell(row, allocator):
            value = self.figures.get(row, allocator, column)
            return text(value / 1024 if value is not None else None, "%.1f")
        return cell

    def tables(self, kind, name):
        yield self.ratios(f"{name}: time, ratio to the best peer", TIME, kind, 1, "best peer, s")
        yield self.ratios(f"{name}: user and system time, ratio to the best peer", "cpu_s", kind, 1, "best peer, s")
        yield self.ratios(f"{name}: peak resident memory, ratio to the leanest peer", "peak_kib", kind, 1 / 1024, "leanest, MiB")
        yield self.absolute(f"{name}: seconds", kind, self.seconds, "Least / median of the rounds, and least user + system time.")
        yield self.absolute(f"{name}: resident at the end, MiB", kind, self.mib("final_kib"),
                            "Patterns: all is freed, except in those that drift. Programs: where they can tell.")
        yield self.absolute(f"{name}: page faults", kind, lambda row, a: text(self.figures.get(row, a, "faults"), "%.0f"))

    def run_table(self, threads):
        rows = []
        for size in distinct(r["size"] for r in self.runs if r["threads"] == threads):
            least = [run_least(self.runs, threads, size, a) for a in self.names]
            rows.append([str(size), *["%.1f + %.1f" % pair if pair else DASH for pair in least]])
        return Shown(f"Runs of one size, {threads} thread{'s' if threads > 1 else ''}: ns of a malloc + ns of a free", self.header(), rows)

    def held_table(self):
        rows = []
        for row in self.figures.rows("pattern", lambda row: row.rsplit("-", 1)[0] in HELD):
            for column, when in (("final_kib", "at the end"), ("settled_kib", "5 s later")):
                cells = [text(bars.fragmentation(self.figures, row, column, a)) for a in self.names]
                if any(cell != DASH for cell in cells):
                    rows.append([f"{row}, {when}", *cells])
        return Shown("Fragmentation: resident / live", self.header(), rows)

    def count_tables(self):
        for column, what in (("instructions", "Instructions"), ("d1_misses", "Misses of the first-level data cache"),
                             ("ll_misses", "Misses of the last-level cache")):
            cells = {(r["row"], r["allocator"]): "%.2f" % r[column] for r in map(self.counted_row, self.counted)}
            rows = [[row, *[cells.get((row, a), DASH) for a in self.names]] for row in distinct(row for row, _ in cells)]
            yield Shown(f"{what} per operation, whole program (callgrind)", self.header(), rows)

    @staticmethod
    def counted_row(row):
        return {key: value if key in ("row", "allocator") else float(value) for key, value in row.items()}

    # ---- plots ----

    def plots(self):
        if not plot.available():
            return
        for what, means in summary(self.figures)[:4]:
            yield Plot(f"{what}, geometric mean, {label(self.figures.base)} = 1", plot.stacked(
                what, what, list(map(label, self.names)), {"mean": [means.get(a, 0) for a in self.names]}, "ratio", level=1))
        for kind, name in KINDS.items():
            for column, what in ((TIME, "time"), ("peak_kib", "peak resident memory")):
                rows = [row for row in self.figures.rows(kind) if self.figures.to_best(row, "drystone", column)]
                if rows:
                    caption = f"{name}: {what} of drystone, best peer of each row = 1"
                    yield Plot(caption, plot.stacked(kind + column, caption, rows, {
                        "drystone": [self.figures.to_best(row, "drystone", column) for row in rows]}, "ratio", level=1))
        for threads in distinct(r["threads"] for r in self.runs):
            sizes = [size for size in distinct(r["size"] for r in self.runs) if size & (size - 1) == 0]
            least = {label(a): [run_least(self.runs, threads, size, a) for size in sizes] for a in PLOTTED if a in self.names}
            caption = f"Runs of one size, threads: {threads}"
            yield Plot(caption, plot.lines(
                "runs%d" % threads, caption, sizes, {a: [sum(pair) if pair else None for pair in pairs] for a, pairs in least.items()},
                "bytes", "ns, malloc + free", logy=True))

    # ---- the page ----

    def section(self, name, title, parts):
        return '<section id="%s"><h2>%s</h2>%s</section>' % (name, html.escape(title), "\n".join(parts))

    def sections(self):
        shown = list(self.plots())
        pictures = '<div class="plots">%s</div>' % "\n".join(
            "<figure><figcaption>%s</figcaption>%s</figure>" % (html.escape(p.caption), p.svg) for p in shown)
        yield "summary", "Summary", [experiments.table_html(self.means()), experiments.table_html(self.bars()), pictures if shown else ""]
        for kind, name in KINDS.items():
            if self.figures.rows(kind):
                yield kind, name, [experiments.table_html(t) for t in self.tables(kind, name) if t.rows]
        if self.runs:
            yield "runs", "Runs of one size", [experiments.table_html(self.run_table(n)) for n in distinct(r["threads"] for r in self.runs)]
        if self.held_table().rows:
            yield "drift", "Fragmentation", [experiments.table_html(self.held_table())]
        if self.counted:
            yield "counts", "Instructions and misses", [experiments.table_html(t) for t in self.count_tables()]
        yield "order", "Order of the peers", ['<div class="scroll"><pre>%s</pre></div>' % html.escape("\n".join(order.lines(self.orders)))]
        troubles = ["Failed: " + line for line in distinct_failures(self.figures)] + ["Left out: " + line for line in self.skipped]
        if troubles:
            yield "troubles", "Failed, left out", ["<ul>%s</ul>" % "".join("<li>%s</li>" % html.escape(line) for line in troubles)]

    def html(self):
        style = Path(experiments.__file__).with_name("report.css").read_text(encoding="utf-8")
        parts = list(self.sections())
        links = "".join('<li><a href="#%s">%s</a></li>' % (name, html.escape(title)) for name, title, _ in parts)
        return """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>drystone: the benchmark suite</title>
<style>%s</style></head><body><main><header><h1>drystone and its peers</h1>
<p>%s</p>%s</header><nav aria-label="Parts"><ol>%s</ol></nav>
%s</main></body></html>
""" % (style, html.escape(INTRODUCTION), "".join('<p class="about">%s</p>' % html.escape(line) for line in self.about), links,
       "\n".join(self.section(*part) for part in parts))
