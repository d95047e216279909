# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""map_pixels.py LEGEND.html BEFORE.png light|dark INFO [AFTER.png]: screenshots of the map of mapped.c, and what the page's
legend says (the document as the browser has it). INFO is `drystone info --json` of the first.

Areas in the colours of the legend are as the bytes behind them: what is used of a cache, of a slab the rest in a paler colour.
Needs Debian's python3-matplotlib, which reads PNG."""
import html
import json
import re
import sys

import matplotlib.image
import numpy


def legend(path):
    text = open(path, encoding="utf-8").read()
    return {html.unescape(name): tuple(int(c) for c in colour.split(","))
            for colour, name in re.findall(r'<i style="background: rgb\(([\d, ]+)\);?"></i><b>(.*?)</b>', text)}


def image(path):
    pixels = (matplotlib.image.imread(path)[:, :, :3] * 255 + 0.5).astype(int)
    return pixels[:, 320:]  # beside the legend, which has these colours, too


def area(pixels, colour):
    return int((abs(pixels - numpy.array(colour)).max(axis=2) <= 2).sum())


def near(what, have, wanted, tolerance):
    assert wanted * (1 - tolerance) <= have <= wanted * (1 + tolerance), f"{what}: {have}, expected {wanted:.0f}"


def main():
    before, dark = image(sys.argv[2]), sys.argv[3] == "dark"
    info = json.load(open(sys.argv[4], encoding="utf-8"))
    colours = legend(sys.argv[1])
    names = ("alpha", "beta", "<gamma>", "page runs", "extents")
    assert len({colours[name] for name in names}) == len(names), colours
    ground = before[-3, -3]
    assert ground.max() < 60 if dark else ground.min() > 240, ground
    have = {name: area(before, colours[name]) for name in names}
    caches = {c["name"]: c for c in info["caches"]}
    used = {n: (c["num_objs"] - c["free_objs"]) / c["num_objs"] * c["bytes"] for n, c in caches.items() if n in names}
    for kind, name in (("runs", "page runs"), ("extents", "extents")):
        used[name] = sum(b["resident_bytes"] for b in info["big_blocks"] if b["kind"] == kind)
    assert have["alpha"] > 5000, have
    scale = have["alpha"] / used["alpha"]  # pixels for a byte
    for name in names:
        near(name, have[name], used[name] * scale, 0.15)
    # the other half of beta is paler: between its colour and the ground, and as much as is used
    pale = numpy.array(colours["beta"]) * 0.3 + ground * 0.7
    paler = int((abs(before - pale).max(axis=2) <= 14).sum())
    near("free objects of beta", paler, (caches["beta"]["bytes"] - used["beta"]) * scale, 0.25)
    print(sys.argv[3], have, "paler:", paler)
    if len(sys.argv) > 5 and sys.argv[5]:
        after = image(sys.argv[5])
        assert area(after, colours["<gamma>"]) < have["<gamma>"] / 20, "gamma is still there"
        near("alpha, afterwards", area(after, colours["alpha"]), have["alpha"], 0.05)


main()
