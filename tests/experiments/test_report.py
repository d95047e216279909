#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The report: one file, whole, with nothing from outside; the same in Markdown; a CSV file each; wrong calls."""
import csv
import os
import re
import tempfile
from html.parser import HTMLParser

from common import check, command, equal, ok

HEADERS = {"census": "population,variant,objfreelist,leftover,dedicated,off_slab,other,waste_bytes"}
VOID = {"meta", "link", "br", "img", "input", "hr", "path", "use", "rect", "line"}


class Page(HTMLParser):
    """Tags are balanced, links lead somewhere inside, nothing is loaded."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.seen = [], [], [], {}

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.seen[tag] = self.seen.get(tag, 0) + 1
        self.ids += [attrs["id"]] if "id" in attrs else []
        for name in ("src", "href", "xlink:href", "action", "data"):
            if name in attrs:
                self.links.append(attrs[name])
        if tag not in VOID or tag in ("path", "use", "rect", "line"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_endtag(self, tag):
        check(self.open and self.open[-1] == tag, "</%s> closes <%s>" % (tag, self.open[-1:]))
        self.open.pop()


def check_html(path, names):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    page = Page()
    page.feed(text)
    page.close()
    equal(page.open, [], "tags left open")
    equal(len(page.ids), len(set(page.ids)), "ids that are there once")
    for link in page.links:
        check(link.startswith("#") and link[1:] in page.ids, "a link leads outside or nowhere: " + link)
    check(not re.search(r"url\((?!#)|@import|<script", text), "something is loaded")
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
ok("report")
