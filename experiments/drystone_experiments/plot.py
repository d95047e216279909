# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""
Plots as SVG for the report, by matplotlib. They are small, so that their letters can be read at the width of a
phone, and their colours are variables of the report's style sheet, so that they follow light and dark.
"""
import io
import os
import re
import sys

# What matplotlib draws with, and what stands in the SVG in its place.
INK, GRID, BACK = "#010101", "#020202", "#030303"
SERIES = ["#110000", "#220000", "#330000", "#440000", "#550000"]
VARIABLES = {INK: "var(--ink)", GRID: "var(--grid)", BACK: "var(--back)"}
VARIABLES.update({colour: "var(--s%d)" % (i + 1) for i, colour in enumerate(SERIES)})
STYLES = ["-", "--", ":", "-.", "-"]
MARKERS = ["o", "s", "^", "D", "v"]


wanted = True  # by the call: without a report nobody would see them


def available():
    if not wanted:
        return False
    try:
        import matplotlib  # noqa: F401  (looked for, not used here)
    except ImportError:
        return False
    return True


def need_python():
    """Begins the program again under Debian's python3, to which Debian's matplotlib belongs, if the first in PATH has none."""
    try:
        import matplotlib  # noqa: F401  (looked for, not used here)
    except ImportError:
        other = "/usr/bin/python3"
        if os.path.exists(other) and not os.environ.get("DRYSTONE_PYTHON") and os.path.realpath(sys.executable) != \
                os.path.realpath(other):
            os.environ["DRYSTONE_PYTHON"] = other
            os.execv(other, [other] + sys.argv)


def _figure(name, height=3.0):
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot
    pyplot.rcParams.update({
        "svg.fonttype": "none", "svg.hashsalt": name, "font.size": 9, "axes.edgecolor": INK, "axes.labelcolor": INK,
        "text.color": INK, "xtick.color": INK, "ytick.color": INK, "axes.facecolor": "none",
        "figure.facecolor": "none", "grid.color": GRID, "axes.grid": True, "axes.axisbelow": True,
        "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False, "lines.linewidth": 1.6,
        "lines.markersize": 4, "hatch.color": BACK, "path.simplify": True,
    })
    return pyplot, pyplot.figure(figsize=(4.3, height), layout="constrained")


def _svg(pyplot, figure, label):
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    pyplot.close(figure)
    text = file.getvalue()
    text = text[text.index("<svg"):]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r"<style.*?</style>", "", text, flags=re.S)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, variable)
    text = re.sub(r"font: ([0-9.]+)px [^;\"]*", r"font-size: \1px", text)
    used = set(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", text))
    text = re.sub(r' id="([^"]*)"', lambda m: m.group(0) if m.group(1) in used else "", text)
    text = re.sub(r"<svg ([^>]*?)width=\"[^\"]*\"([^>]*)>", r"<svg \1\2>", text, count=1)
    text = re.sub(r"<svg ([^>]*?)height=\"[^\"]*\"([^>]*)>", r"<svg \1\2>", text, count=1)
    label = label.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return text.replace("<svg ", '<svg class="plot" role="img" aria-label="%s" ' % label, 1)


def lines(name, label, x, series, xlabel, ylabel, logy=False, level=None):
    """series: {legend: values or (medians, lows, highs)}; None where there is no value; level: a line across."""
    pyplot, figure = _figure(name)
    axes = figure.add_subplot()
    for i, (legend, values) in enumerate(series.items()):
        band = None
        if isinstance(values, tuple):
            values, band = values[0], values[1:]
        points = [(a, b) for a, b in zip(x, values) if b is not None]
        axes.plot([a for a, _ in points], [b for _, b in points], STYLES[i % 5], marker=MARKERS[i % 5],
                  color=SERIES[i % 5], label=legend)
        if band:
            axes.fill_between(x, band[0], band[1], color=SERIES[i % 5], alpha=0.18, linewidth=0)
    axes.set_xscale("log", base=2)
    if level is not None:
        axes.axhline(level, color=INK, linewidth=0.9)
    if logy:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(_plain())
        axes.yaxis.set_minor_formatter(pyplot.NullFormatter())
    else:
        axes.set_ylim(bottom=0)
    axes.set_xticks(x, [str(value) for value in x])
    axes.minorticks_off()
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    _room(axes)
    return _svg(pyplot, figure, label)


def _plain():
    from matplotlib import ticker
    return ticker.FuncFormatter(lambda value, _: "%g" % value)


def _room(axes):
    """The legend stands above the axes, outside of them."""
    axes.legend(loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncol=2, fontsize=8, handlelength=2.4, borderaxespad=0.2,
                columnspacing=1.2)


def bars(name, label, groups, series, ylabel, xlabel=""):
    """Groups of bars; series: {legend: [value for each group]}."""
    pyplot, figure = _figure(name)
    axes = figure.add_subplot()
    width = 0.8 / len(series)
    for i, (legend, values) in enumerate(series.items()):
        at = [g + (i - (len(series) - 1) / 2) * width for g in range(len(groups))]
        axes.bar(at, [value or 0 for value in values], width * 0.92, color=SERIES[i % 5], label=legend,
                 hatch=["", "//", "..", "xx", "\\\\"][i % 5], linewidth=0)
    axes.grid(axis="x", visible=False)
    axes.set_xticks(range(len(groups)), groups)
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    if len(series) > 1:
        _room(axes)
    return _svg(pyplot, figure, label)


def stacked(name, label, rows, parts, xlabel, level=None):
    """Horizontal bars made of parts: rows: names; parts: {legend: [value for each row]}; level: a line across."""
    pyplot, figure = _figure(name, 0.9 + 0.34 * len(rows))
    axes = figure.add_subplot()
    left = [0.0] * len(rows)
    for i, (legend, values) in enumerate(parts.items()):
        axes.barh(range(len(rows)), values, left=left, color=SERIES[i % 5], label=legend, height=0.72,
                  hatch=["", "//", "..", "xx", "\\\\"][i % 5], linewidth=0)
        left = [a + b for a, b in zip(left, values)]
    if level is not None:
        axes.axvline(level, color=INK, linewidth=0.9)
    axes.set_yticks(range(len(rows)), rows)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(xlabel)
    axes.legend(loc="lower left", bbox_to_anchor=(-0.35, 1.0), ncol=3, fontsize=8, handlelength=1.6, borderaxespad=0.2,
                columnspacing=1.0)
    return _svg(pyplot, figure, label)
