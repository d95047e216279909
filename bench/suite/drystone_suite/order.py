# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""
Whether the suite puts the peers into the order that public programs put them into: a suite that does not predicts nothing.
The expected figures were measured on programs that are not in the project (2 cores, least of 4 rounds, mimalloc 3.4 = 1).
"""
import math
from collections import namedtuple

from .figures import TIME, label
from .rows import HELD

EXPECTED = {
    "time of patterns": ("pattern", TIME, {"mimalloc2": 0.940, "snmalloc": 0.947, "tcmalloc-google": 0.974, "mimalloc": 1.0,
                                           "rpmalloc": 1.062, "jemalloc": 1.095, "glibc": 1.337}),
    "time of programs": ("program", TIME, {"mimalloc2": 0.961, "mimalloc": 1.0, "snmalloc": 1.010, "rpmalloc": 1.013, "jemalloc": 1.018,
                                           "tcmalloc-google": 1.025, "glibc": 1.214}),
    "peak of patterns": ("pattern", "peak_kib", {"glibc": 0.556, "rpmalloc": 0.560, "snmalloc": 0.638, "jemalloc": 0.659,
                                                 "tcmalloc-google": 0.835, "mimalloc2": 0.915, "mimalloc": 1.0}),
    "peak of programs": ("program", "peak_kib", {"glibc": 0.844, "rpmalloc": 0.879, "snmalloc": 0.880, "mimalloc2": 0.912,
                                                 "jemalloc": 0.938, "tcmalloc-google": 0.948, "mimalloc": 1.0}),
}
CLOSE = 1.03  # what differs by less, there or here, has no order

# pairs: (better as expected, worse, expected ratio, ratio here, close, rows that turn it round)
Order = namedtuple("Order", "what table pairs")


def culprits(figures, rows, column, better, worse):
    """The rows in which the expected better one loses most to the other."""
    ratios = sorted(((figures.get(row, better, column) / figures.get(row, worse, column), row) for row in rows), reverse=True)
    return [f"{row} {ratio:.2f}" for ratio, row in ratios[:3] if ratio > 1]


def compare(figures):
    orders = []
    for what, (kind, column, expected) in EXPECTED.items():
        # The public suites have no run that is made to fragment.
        rows = figures.complete(column, figures.rows(kind, lambda row: row.rsplit("-", 1)[0] not in HELD))
        here = figures.relative(column, rows)
        names = [name for name in expected if name in here]
        if len(names) < 2:
            continue
        pairs = []
        for i, better in enumerate(names):
            for worse in names[i + 1:]:
                there, now = expected[better] / expected[worse], here[better] / here[worse]
                if now > 1:
                    close = max(1 / there, now) < CLOSE or 1 / there < CLOSE or now < CLOSE
                    pairs.append((better, worse, there, now, close, culprits(figures, rows, column, better, worse)))
        orders.append(Order(what, [(name, expected[name], here[name]) for name in names], pairs))
    return orders


def agreement(order):
    """Kendall's tau of the two orders."""
    n = len(order.table)
    return 1 - 2 * len(order.pairs) / math.comb(n, 2)


def lines(orders):
    for order in orders:
        yield f"{order.what}: agreement {agreement(order):.2f} (1: the same order, -1: the reverse)"
        yield "  expected  " + "  ".join(f"{label(name)} {there:.3f}" for name, there, _ in order.table)
        yield "  here      " + "  ".join(f"{label(name)} {now:.3f}" for name, _, now in sorted(order.table, key=lambda t: t[2]))
        for better, worse, there, now, close, rows in order.pairs:
            yield "  %s %s / %s: expected %.3f, here %.3f; most in %s" % (
                "close  " if close else "DIFFERS", label(better), label(worse), there, now, ", ".join(rows) or "no single row")
    if not orders:
        yield "order: not enough was measured to compare it"


def differs(orders):
    return any(not pair[4] for order in orders for pair in order.pairs)
