# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The rows: a pattern with a number of threads, or a real program."""
from collections import namedtuple

Row = namedtuple("Row", "name kind pattern threads program what")

# pattern, program, threads, what it is; docs/bench-suite.md has more of it
PATTERNS = [
    ("powerlaw", "patterns", (1, 2, 8), "100,000 live blocks, sizes by a power law to 16 KiB, replaced at random"),
    ("powerlaw_few", "patterns", (1, 2, 8), "1024 live blocks a thread, the same sizes"),
    ("small256", "patterns", (1, 2), "256 live blocks of 8 to 519 bytes, replaced at random"),
    ("wide", "patterns", (1, 2, 8), "blocks of 16 to 16,000 bytes, some swapped between threads"),
    ("server", "patterns", (1, 2, 8, 64), "threads replace blocks, start a successor and end"),
    ("churn", "patterns", (1, 2, 8), "short threads; each leaves some blocks to others"),
    ("phases", "patterns", (1, 2, 8), "phases of threads, with survivors"),
    ("oneway", "patterns", (2, 8, 64), "producers and consumers, through one queue"),
    ("alltoall", "patterns", (2, 8, 64), "each thread sends blocks to all others"),
    ("batches", "patterns", (1, 2, 8), "25 to 1600 blocks of one size at a time"),
    ("sharing_active", "patterns", (2, 8), "threads allocate small blocks and write to them often"),
    ("sharing_passive", "patterns", (2, 8), "the same, beginning with neighbours from one thread"),
    ("symbols", "patterns", (1,), "symbolic mathematics: numbers of any length"),
    ("minimise", "patterns", (1,), "logic minimiser: tiny cubes in lists"),
    ("trees", "patterns", (1, 2, 8), "binary trees built, counted and freed"),
    ("turnover", "patterns", (1, 2, 8), "a table of blocks of ten sizes, most of it freed and filled again"),
    ("maps", "objects", (1, 2), "C++ maps of words to lists"),
    ("objects", "objects", (1, 2, 8), "C++ objects with virtual destructors and strings, sized delete"),
    ("grow", "patterns", (1, 2), "buffers of 4 KiB to 32 MiB that grow by realloc"),
    ("big", "patterns", (1,), "20 live blocks of 5 to 25 MB, replaced at random, all written"),
    ("big_sparse", "patterns", (1,), "the same, one byte of each page written"),
    ("runs", "patterns", (1, 2), "N blocks of one size, then N frees"),
    ("drift", "patterns", (1, 2), "a live set whose sizes drift, few survivors"),
    ("drift_hard", "patterns", (1, 2), "a live set whose sizes drift, many survivors"),
    ("processes", "patterns", (1,), "short processes"),
]
HELD = ("drift", "drift_hard")       # end with their blocks live
HANDOVER = ("oneway", "alltoall", "server")  # judged at 8 and 64 threads
# What callgrind counts unless something is asked for: one thread, for it runs threads one after another.
COUNTED = ["powerlaw_few-1", "small256-1", "server-1", "phases-1", "batches-1", "symbols-1", "minimise-1", "trees-1",
           "objects-1", "maps-1", "runs-1"]


def pattern_rows():
    return [Row(f"{pattern}-{n}", "pattern", pattern, n, program, what)
            for pattern, program, threads, what in PATTERNS for n in threads]


def program_row(name, what):
    return Row(name, "program", name, 0, name, what)


def chosen(rows, wanted):
    """Rows by name ("server-8"), by pattern ("server") or by kind ("patterns", "programs")."""
    if not wanted:
        return rows
    return [row for row in rows if any(w in (row.name, row.pattern, row.kind + "s") for w in wanted)]


def unknown(rows, wanted):
    return [w for w in wanted if not chosen(rows, [w])]
