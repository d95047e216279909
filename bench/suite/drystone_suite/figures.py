# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The single figures: a record for each process that was run; and what is made of them."""
import csv
import statistics

from drystone_experiments.worker import number

COLUMNS = ["kind", "row", "pattern", "threads", "allocator", "round", "wall_s", "user_s", "system_s", "peak_kib", "final_kib",
           "settled_kib", "faults", "ops", "live_bytes", "status"]
RUN_COLUMNS = ["threads", "size", "allocator", "round", "malloc_ns", "free_ns"]
COUNT_COLUMNS = ["row", "allocator", "instructions", "d1_misses", "ll_misses"]
TIME = "wall_s"
LABELS = {"mimalloc": "mimalloc 3", "mimalloc2": "mimalloc 2", "tcmalloc": "tcmalloc (gperftools)", "tcmalloc-google": "tcmalloc (Google)"}


def label(allocator):
    return LABELS.get(allocator, allocator)


class Table:
    """A CSV file that is written line by line, so that nothing is lost when a run is interrupted."""

    def __init__(self, path, columns):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.file = path.open("w", newline="", encoding="utf-8")
        self.writer = csv.DictWriter(self.file, columns, restval="", lineterminator="\n")
        self.writer.writeheader()
        self.rows = []

    def add(self, row):
        self.writer.writerow(row)
        self.file.flush()
        self.rows.append({key: value for key, value in row.items() if value != ""})


TEXT = ("kind", "row", "pattern", "allocator", "status")


def read(path, columns):
    """Rows of a file that Table wrote; ValueError if it is another."""
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames != columns:
            raise ValueError(f"{path}: not a table of the suite (its columns: {reader.fieldnames})")
        return [{key: value if key in TEXT else number(value) for key, value in row.items() if value not in ("", None)} for row in reader]


def distinct(values):
    return list(dict.fromkeys(values))


def mean(values):
    """Geometric; None of nothing."""
    values = list(values)
    return statistics.geometric_mean(values) if values else None


class Figures:
    """By row, allocator and column. Times are the least of the rounds, all else the median."""

    def __init__(self, records):
        self.records = records
        self.allocators = distinct(r["allocator"] for r in records)
        self.peers = [a for a in self.allocators if a != "drystone"]
        self.kinds = {r["row"]: r["kind"] for r in records}
        self.failed = [r for r in records if r["status"] != "ok"]
        bad = {(r["row"], r["allocator"]) for r in self.failed}
        self.values = {}
        for r in records:
            if (r["row"], r["allocator"]) in bad:
                continue
            for column, value in r.items():
                if isinstance(value, (int, float)):
                    self.values.setdefault((r["row"], r["allocator"], column), []).append(value)
            self.values.setdefault((r["row"], r["allocator"], "cpu_s"), []).append(r["user_s"] + r["system_s"])
        # As in the table that is expected; another where that peer is not there, or fails in all programs, say.
        kinds = [self.rows(kind) for kind in distinct(self.kinds.values())]
        whole = [p for p in self.peers if all(p not in self.left_out(TIME, rows) for rows in kinds)]
        self.base = "mimalloc" if "mimalloc" in whole or not self.peers else (whole or self.peers)[0]

    def rows(self, kind=None, wanted=lambda row: True):
        return [row for row, k in self.kinds.items() if kind in (None, k) and wanted(row)]

    def all(self, row, allocator, column):
        return self.values.get((row, allocator, column), [])

    def get(self, row, allocator, column):
        values = self.all(row, allocator, column)
        if not values:
            return None
        if column.endswith("_s"):
            return max(min(values), 1e-4)  # the clock of user and system time stands still for milliseconds
        return statistics.median(values)

    def median(self, row, allocator, column):
        values = self.all(row, allocator, column)
        return statistics.median(values) if values else None

    def best(self, row, column):
        """(least value, its peer), drystone left out; None if there is none."""
        found = [(self.get(row, peer, column), peer) for peer in self.peers if self.get(row, peer, column)]
        return min(found) if found else None

    def to_best(self, row, allocator, column):
        best, value = self.best(row, column), self.get(row, allocator, column)
        return value / best[0] if best and value else None

    def left_out(self, column, rows):
        """Allocators without a figure in any of the rows: no mean has them."""
        return [a for a in self.allocators if not any(self.get(row, a, column) for row in rows)]

    def complete(self, column, rows):
        """Rows in which every other allocator has a figure: means are over these."""
        left_out = self.left_out(column, rows)
        return [row for row in rows if all(self.get(row, a, column) for a in self.allocators if a not in left_out)]

    def means(self, column, rows):
        """{allocator: geometric mean of its ratio to the best peer of each row}, of rows that are complete."""
        left_out, rows = self.left_out(column, rows), self.complete(column, rows)
        if not rows or not set(self.peers) - set(left_out):
            return {}
        return {a: mean(self.to_best(row, a, column) for row in rows) for a in self.allocators if a not in left_out}

    def relative(self, column, rows):
        """The same with `base` as 1."""
        means = self.means(column, rows)
        if self.base not in means:
            return {}
        return {a: value / means[self.base] for a, value in means.items()}

    def best_single(self, column, rows):
        """(peer, its mean): the one peer that is best over all rows."""
        means = {a: v for a, v in self.means(column, rows).items() if a != "drystone"}
        return min(means.items(), key=lambda item: item[1]) if means else None


def run_least(runs, threads, size, allocator):
    """(malloc, free): least of the rounds; None: not measured."""
    rows = [r for r in runs if (r["threads"], r["size"], r["allocator"]) == (threads, size, allocator)]
    if not rows:
        return None
    return min(r["malloc_ns"] for r in rows), min(r["free_ns"] for r in rows)
