# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""slabinfo.py FILE... (or < LISTING): a strict parser of /proc/slabinfo 2.1. Prints the number of caches of each; status 1 on
any fault.

--min-objects N: the active objects of all caches are at least N.
--expect NAME: a cache of this name is there.
"""
import argparse
import re
import sys

HEADER = ["slabinfo - version: 2.1",
          "# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab>"
          " : tunables <limit> <batchcount> <sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>"]
LINE = re.compile(r"^(?P<name>[!-~]+) +(?P<active>\d+) +(?P<num>\d+) +(?P<size>\d+) +(?P<per>\d+) +(?P<pages>\d+)"
                  r" : tunables +(?P<limit>\d+) +(?P<batch>\d+) +(?P<factor>\d+)"
                  r" : slabdata +(?P<active_slabs>\d+) +(?P<slabs>\d+) +(?P<shared>\d+)$")


def check(line):
    """The active objects of a line; raises ValueError."""
    match = LINE.match(line)
    if match is None:
        raise ValueError("no line of the format")
    v = {key: int(text) for key, text in match.groupdict().items() if key != "name"}
    for holds, what in (
            (v["active"] <= v["num"], "active_objs > num_objs"),
            (v["num"] == v["slabs"] * v["per"], "num_objs is not num_slabs * objperslab"),
            (v["active_slabs"] <= v["slabs"], "active_slabs > num_slabs"),
            (v["per"] >= 1 and v["size"] >= 1, "an empty slab"),
            (v["pages"] & (v["pages"] - 1) == 0 and v["pages"] >= 1, "pagesperslab is no power of two"),
            (v["per"] * v["size"] <= v["pages"] * 65536, "objects do not fit"),
            (v["batch"] <= v["limit"] <= 1024, "batchcount or limit out of range")):
        if not holds:
            raise ValueError(what)
    return match["name"], v["active"]


def parse(text, options):
    """The number of caches; raises ValueError."""
    lines = text.split("\n")
    if lines[:2] != HEADER or lines[-1] != "":
        raise ValueError(f"wrong header or end: {lines[:2]}")
    names, active = [], 0
    for line in lines[2:-1]:
        try:
            name, count = check(line)
        except ValueError as error:
            raise ValueError(f"{error}: {line}") from None
        names.append(name)
        active += count
    if active < options.min_objects:
        raise ValueError(f"{active} active objects, expected {options.min_objects}")
    for name in options.expect:
        if name not in names:
            raise ValueError(f"no cache {name}")
    return len(names)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--min-objects", type=int, default=0)
    parser.add_argument("--expect", action="append", default=[])
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    for path in options.files or [None]:
        try:
            if path is None:
                print(parse(sys.stdin.read(), options))
            else:
                with open(path, encoding="utf-8") as file:
                    print(parse(file.read(), options))
        except ValueError as error:
            sys.exit(f"slabinfo: {path + ': ' if path else ''}{error}")


main()
