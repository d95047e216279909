# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Whether a report in HTML is whole."""
import re
from html.parser import HTMLParser

from common import check, equal

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


def whole_page(path):
    """(page, text) of a file with balanced tags, links that lead inside, and nothing from outside."""
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
    return page, text
