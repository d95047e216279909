#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The report: one file, whole, with nothing from outside; the same in Markdown; a CSV file each; wrong calls."""
import csv
import os
import re
import tempfile

from common import check, command, equal, ok
from page import whole_page

HEADERS = {"census": "population,variant,objfreelist,leftover,dedicated,off_slab,other,waste_bytes"}


def check_html(path, names):
    page, text = whole_page(path)
    check(page.seen.get("svg", 0) >= len(names), "%d plots for %d experiments" % (page.seen.get("svg", 0), len(names)))
    check('name="viewport"' in text and "prefers-color-scheme" in text, "not made for phones and the dark")
    for name in names:
        check(name in page.ids, "no page for " + name)
    for word in ("Verdict", "Method", "Published", "Measured here", "To repeat it"):
        equal(text.count(word) >= len(names), True, "every page has " + word)


with tempfile.TemporaryDirectory() as folder:
    out = os.path.join(folder, "report")
    done = command("all", "--quick", "--out", out)
    names = [line.split()[0] for line in done.stdout.splitlines()[:-1]]
    check(len(names) >= 4 and names[0] == "census", "which experiments: %r" % names)
    check(re.search(r"\b%d/%d %s" % (len(names), len(names), names[-1]), done.stderr), "no progress")
    check_html(os.path.join(out, "report.html"), names)
    with open(os.path.join(out, "report.md"), encoding="utf-8") as file:
        markdown = file.read()
    equal(markdown.count("\n## "), len(names), "headings in report.md")
    for name in names:
        with open(os.path.join(out, name + ".csv"), newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        check(len(rows) > 1 and all(len(row) == len(rows[0]) for row in rows), name + ".csv is not a table")
        equal(",".join(rows[0]), HEADERS.get(name, ",".join(rows[0])), "columns of " + name)

check("usage" in command("no-such-thing", status=2).stderr, "an unknown experiment")
check("census" in command("repeat", "--slabinfo", "x", status=2).stderr, "a listing for another experiment")
check("--slabinfo" in command("--help").stdout, "help")
done = command("census", "--quick", "--out", "/dev/null/x", status=1)
check("drystone: experiment: " in done.stderr and "Traceback" not in done.stderr, "a folder that cannot be made: %s" % done.stderr)
ok("report")
