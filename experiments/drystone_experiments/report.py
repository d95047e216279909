# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The report, as one HTML file, as Markdown, and as CSV."""
import csv
import html
import os
import platform
import re
import time
from pathlib import Path

INTRODUCTION = (
    "Four documents of the Linux memory-management list describe the system that drystone implements. Each of their claims is "
    "measured here, beside the published figures and beside what drystone does by default today. Timings are ratios of variants "
    "that take turns in one run; counts are the same in every run.")


def machine():
    model = platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return "%s, %d CPUs, Linux %s" % (model, len(os.sched_getaffinity(0)), platform.release())


class About:
    """When, where and how busy."""

    def __init__(self, quick):
        self.quick, self.machine, self.date = quick, machine(), time.strftime("%Y-%m-%d %H:%M %Z")
        self.began, self.load = time.monotonic(), [os.getloadavg()[0]]
        self.seconds = 0.0

    def done(self):
        self.seconds = time.monotonic() - self.began

    def lines(self):
        lines = ["%s; %s; %d s." % (self.machine, self.date, round(self.seconds))]
        if self.load[0] > 0.5 * len(os.sched_getaffinity(0)):
            lines.append("The machine was busy with other things when the run began (load %.1f): its timings are marked and should "
                         "be repeated; its counts stand." % self.load[0])
        if self.quick:
            lines.append("This is a quick run at a reduced size, to see that everything works: its figures mean little.")
        return lines

    def busy(self):
        return self.load[0] > 0.5 * len(os.sched_getaffinity(0))


def text_of(cell):
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return format(cell, ",") if abs(cell) >= 10000 else str(cell)
    return str(cell)


NUMERIC = re.compile(r"[-–]?[0-9.,]*( \[[-–0-9.,]*\])?")


def numeric(cell):
    return isinstance(cell, (int, float)) or NUMERIC.fullmatch(cell) is not None


# ---- HTML ----------------------------------------------------------------------------

def table_html(table):
    out = ['<figure class="table"><figcaption>%s</figcaption><div class="scroll" tabindex="0" role="region" aria-label="%s"><table>'
           % (html.escape(table.caption), html.escape(table.caption, quote=True))]
    right = [' class="n"' if all(numeric(row[i]) for row in table.rows) else "" for i in range(len(table.header))]
    out.append("<thead><tr>%s</tr></thead><tbody>" % "".join(
        '<th scope="col"%s>%s</th>' % (kind, html.escape(str(h))) for kind, h in zip(right, table.header)))
    for row in table.rows:
        cells = []
        for i, cell in enumerate(row):
            text = html.escape(text_of(cell))
            kind = ' class="n"' if numeric(cell) else ""
            cells.append('<th scope="row"%s>%s</th>' % (kind, text) if i == 0 else "<td%s>%s</td>" % (kind, text))
        out.append("<tr>%s</tr>" % "".join(cells))
    out.append("</tbody></table></div>")
    if table.note:
        out.append('<p class="note">%s</p>' % html.escape(table.note))
    out.append("</figure>")
    return "\n".join(out)


def claims_html(result):
    signs = {True: ("held", "holds"), False: ("failed", "differs"), None: ("open", "open")}
    items = []
    for claim in result.claims:
        kind, word = signs[claim.holds]
        why = " Why: %s." % claim.why if claim.why else ""
        items.append('<li class="%s"><b>%s</b> %s <span>%s.%s</span></li>' % (
            kind, word, html.escape(claim.says[0].upper() + claim.says[1:] + "."),
            html.escape(claim.measured[0].upper() + claim.measured[1:]), html.escape(why)))
    return '<ul class="claims">%s</ul>' % "".join(items) if items else ""


def section_html(number, result, about):
    parts = ['<section id="%s"><h2><span>%d</span> %s</h2>' % (result.name, number, html.escape(result.title))]
    parts.append('<p class="question">%s</p>' % html.escape(result.question))
    parts.append('<p class="verdict"><b>Verdict</b> %s</p>' % html.escape(result.verdict))
    if result.timed and about.busy():
        parts.append('<p class="busy">Timed on a busy machine.</p>')
    parts.append("<h3>Method</h3><p>%s</p>" % html.escape(result.method))
    parts.append("<h3>Published</h3>" + "\n".join(table_html(t) for t in result.published))
    parts.append("<h3>Measured here</h3>")
    if result.plots:
        parts.append('<div class="plots">%s</div>' % "\n".join(
            "<figure><figcaption>%s</figcaption>%s</figure>" % (html.escape(p.caption), p.svg) for p in result.plots))
    parts += [table_html(t) for t in result.ours]
    parts.append("<h3>Claims</h3>" + claims_html(result))
    parts.append('<p class="again">To repeat it: <code>%s</code> (took %d s). Figures: <code>%s.csv</code></p></section>' % (
        html.escape(result.command), round(result.seconds), result.name))
    return "\n".join(parts)


def html_report(results, about):
    style = (Path(__file__).resolve().parent / "report.css").read_text(encoding="utf-8")
    links = "".join('<li><a href="#%s">%s</a> <span>%s</span></li>' % (
        r.name, html.escape(r.title), html.escape(r.verdict)) for r in results)
    return """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>drystone: what the documents measured, measured here</title>
<style>%s</style></head><body><main><header><h1>What the documents measured, measured here</h1>
<p>%s</p>%s</header><nav aria-label="Experiments"><ol>%s</ol></nav>
%s</main></body></html>
""" % (style, html.escape(INTRODUCTION), "".join("<p class=\"about\">%s</p>" % html.escape(line) for line in about.lines()), links,
       "\n".join(section_html(i, r, about) for i, r in enumerate(results, 1)))


def no_break(text):
    """A number keeps its per cent sign on its line."""
    return re.sub(r"(\d) %", "\\1\u00a0%", text)


# ---- Markdown --------------------------------------------------------------------------

def escape_md(cell):
    return text_of(cell).replace("|", "\\|").replace("\n", " ")


def table_md(table):
    lines = ["**%s**" % table.caption, "", "| %s |" % " | ".join(escape_md(h) or " " for h in table.header)]
    first = table.rows[0] if table.rows else []
    lines.append("|%s|" % "|".join("---:" if numeric(cell) and cell != "" else "---" for cell in first))
    lines += ["| %s |" % " | ".join(escape_md(cell) for cell in row) for row in table.rows]
    if table.note:
        lines += ["", table.note]
    return "\n".join(lines) + "\n"


def section_md(number, result, about):
    lines = ["## %d. %s" % (number, result.title), "", result.question, "", "**Verdict.** " + result.verdict, ""]
    if result.timed and about.busy():
        lines += ["*Timed on a busy machine.*", ""]
    lines += ["### Method", "", result.method, "", "### Published", ""] + [table_md(t) for t in result.published]
    lines += ["### Measured here", ""] + [table_md(t) for t in result.ours]
    if result.claims:
        lines += ["### Claims", ""]
    for claim in result.claims:
        word = {True: "holds", False: "differs", None: "open"}[claim.holds]
        lines.append("- **%s**: %s. %s.%s" % (word, claim.says[0].upper() + claim.says[1:],
                                              claim.measured[0].upper() + claim.measured[1:],
                                              " Why: %s." % claim.why if claim.why else ""))
    lines += ["", "To repeat it: `%s` (took %d s). Figures: `%s.csv`" % (result.command, round(result.seconds), result.name), ""]
    return "\n".join(lines)


def markdown_report(results, about):
    lines = ["# What the documents measured, measured here", "", INTRODUCTION, "", "  \n".join(about.lines()), ""]
    return "\n".join(lines + [section_md(i, r, about) for i, r in enumerate(results, 1)])


# ---- files -------------------------------------------------------------------------------

def write_csv(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def write(folder, results, about):
    folder.mkdir(parents=True, exist_ok=True)
    for result in results:
        write_csv(folder / (result.name + ".csv"), result.csv_header, result.csv_rows)
        for name, (header, rows) in result.more_csv.items():
            write_csv(folder / (name + ".csv"), header, rows)
    (folder / "report.html").write_text(no_break(html_report(results, about)), encoding="utf-8")
    (folder / "report.md").write_text(markdown_report(results, about), encoding="utf-8")
