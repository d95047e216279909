# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""What the timed experiments share: a table of medians and ratios by size, a plot of the ratios."""
from . import plot, worker
from .result import Plot, Table


def sizes_of(rows):
    return sorted({row["size"] for row in rows})


def ratio_table(caption, rows, variants, base, columns, note=""):
    """
    A line a size: the median of the base, then for each other variant the ratio to it, with quartiles.
    variants: {name: title}; columns: {column: title}.
    """
    header = ["size"]
    for title in columns.values():
        header.append("%s, %s" % (title, variants[base]))
        header += ["%s, %s" % (title, name) for key, name in variants.items() if key != base]
    table = []
    for size in sizes_of(rows):
        mine = worker.pick(rows, size=size)
        line = [size]
        for column in columns:
            line.append("%.1f" % worker.median_of(worker.pick(mine, variant=base), column))
            line += [worker.spread_text(worker.ratios(mine, column, key, base)) for key in variants if key != base]
        table.append(line)
    return Table(caption, header, table, note)


def median_ratio(rows, size, column, variant, base):
    found = worker.spread(worker.ratios(worker.pick(rows, size=size), column, variant, base))
    return found[0] if found else None


def ratio_plot(name, caption, rows, variants, base, column, published=None, ylabel=None):
    """Ratio to the base by size, quartiles as a band; published: {size: ratio}."""
    if not plot.available():
        return []
    sizes = sizes_of(rows)
    series = {}
    if published:
        series["published"] = [published.get(size) for size in sizes]
    for key, title in variants.items():
        if key != base:
            found = [worker.spread(worker.ratios(worker.pick(rows, size=size), column, key, base)) for size in sizes]
            series[title] = tuple(list(part) for part in zip(*found))
    return [Plot(caption, plot.lines(name, caption, sizes, series, "object size, bytes",
                                     ylabel or "ratio to %s" % variants[base], level=1.0))]
