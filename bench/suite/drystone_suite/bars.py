# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""What drystone is to reach in the suite, and whether it does here."""
from collections import namedtuple

from .figures import TIME, distinct, label, mean, run_least
from .rows import HANDOVER, HELD

# value None: not measured in this run; where: the worst row, or what it was compared with
Bar = namedtuple("Bar", "what value limit where")


def single(figures, what, kind, limit):
    rows = figures.rows(kind)
    best = figures.best_single(TIME, rows)
    means = figures.means(TIME, rows)
    if not best or "drystone" not in means:
        return Bar(what, None, limit, "")
    return Bar(what, means["drystone"] / best[1], limit, "to " + label(best[0]))


def worst(figures, what, column, rows, limit):
    found = [(figures.to_best(row, "drystone", column), row) for row in rows]
    found = [(ratio, row) for ratio, row in found if ratio]
    if not found:
        return Bar(what, None, limit, "")
    ratio, row = max(found)
    return Bar(what, ratio, limit, f"{row}, to {label(figures.best(row, column)[1])}")


def peaks(figures):
    """To the leanest peer: the mean over all, and the worst after 1 MB is granted."""
    rows = [row for row in figures.rows() if figures.to_best(row, "drystone", "peak_kib")]
    ratios = [figures.to_best(row, "drystone", "peak_kib") for row in rows]
    granted = [(figures.get(row, "drystone", "peak_kib") / (figures.best(row, "peak_kib")[0] * 1.15 + 1024) * 1.15, row) for row in rows]
    value, row = max(granted, default=(None, ""))
    # One peer against drystone: not the best of every row, which no allocator is.
    best = figures.best_single("peak_kib", figures.rows())
    means = figures.means("peak_kib", figures.rows())
    single_peer = means["drystone"] / best[1] if best and "drystone" in means else None
    return [Bar("peak memory, geometric mean to the leanest single peer", single_peer, 1.00, "to " + label(best[0]) if best else ""),
            Bar("peak memory, geometric mean to the leanest peer of each row", mean(ratios), None, "no bar"),
            Bar("peak memory, each, to the leanest peer (1 MB granted)", value, 1.15, row)]


def run_ratios(runs):
    """{(threads, size): malloc and free of drystone to the better of mimalloc 3 and snmalloc}"""
    ratios = {}
    for threads, size in distinct((r["threads"], r["size"]) for r in runs):
        ours = run_least(runs, threads, size, "drystone")
        theirs = [run_least(runs, threads, size, peer) for peer in ("mimalloc", "snmalloc")]
        theirs = [sum(found) for found in theirs if found]
        if ours and theirs:
            ratios[threads, size] = sum(ours) / min(theirs)
    return ratios


def to_peer(figures, what, row, column, peer, limit):
    ours, theirs = figures.get(row, "drystone", column), figures.get(row, peer, column)
    return Bar(what, ours / theirs if ours and theirs else None, limit, "to " + label(peer))


def fragmentation(figures, row, column, allocator):
    """Resident to live at the end."""
    resident, live = figures.get(row, allocator, column), figures.get(row, allocator, "live_bytes")
    return resident * 1024 / live if resident and live else None


def fragmentation_bars(figures):
    found = []
    for row in figures.rows("pattern", lambda row: row.rsplit("-", 1)[0] in HELD):
        for column, when in (("final_kib", "at the end"), ("settled_kib", "5 s later")):
            ours = fragmentation(figures, row, column, "drystone")
            theirs = [(fragmentation(figures, row, column, peer), peer) for peer in figures.peers]
            theirs = [pair for pair in theirs if pair[0]]
            if ours and theirs:
                found.append(Bar(f"{row}: resident / live {when}", ours, 1.15, "lowest peer: %s %.2f" % (label(min(theirs)[1]), min(theirs)[0])))
    return found


def bars(figures, runs):
    pairs = run_ratios(runs)
    big = [row for row in ("big-1", "big_sparse-1") if row in figures.kinds]
    threads = [f"{pattern}-{n}" for pattern in HANDOVER for n in (8, 64)]
    found = [
        single(figures, "time of the patterns, geometric mean to the best single peer", "pattern", 0.95),
        single(figures, "time of the programs, geometric mean to the best single peer", "program", 0.97),
        worst(figures, "time of a program to the best peer on it, the worst", TIME, figures.rows("program"), 1.05),
        worst(figures, "time of a pattern to the best peer on it, the worst", TIME, figures.rows("pattern"), 1.10),
        *peaks(figures),
        Bar("runs of one size, malloc + free, to the better of mimalloc 3 and snmalloc, mean", mean(pairs.values()), 0.90, ""),
        Bar("the same, the worst size", max(pairs.values(), default=None), 1.10,
            "%d threads, %d bytes" % max(pairs, key=pairs.get) if pairs else ""),
        to_peer(figures, "256 live blocks of 8 to 519 bytes, to mimalloc 3", "small256-1", TIME, "mimalloc", 0.90),
        worst(figures, "blocks of 5 to 25 MB: time to the best peer", TIME, big, 1.05),
        *[to_peer(figures, f"{row}: peak to jemalloc's", row, "peak_kib", "jemalloc", 1.10) for row in big],
        worst(figures, "handing on with 8 and 64 threads, to the best peer", TIME, threads, 1.05),
        *fragmentation_bars(figures),
    ]
    return found


def verdict(bar):
    if bar.value is None:
        return "not measured"
    if bar.limit is None:
        return ""
    return "reached" if bar.value <= bar.limit else "MISSED"
