#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The census: cache by cache what Linux chose, and the sums that are known."""
import os
import tempfile

from common import check, command, equal, experiment, ok, pick

result = experiment("census")
TYPES = ("objfreelist", "leftover", "dedicated", "off_slab", "other")
KNOWN = {  # population, variant: number of caches by type
    ("uml", "objfreelist"): (83, 16, 23, 2, 0), ("uml", "before"): (0, 50, 33, 41, 0), ("uml", "default"): (0, 0, 0, 0, 124),
    ("uml-merged", "objfreelist"): (58, 16, 13, 2, 0), ("x86", "objfreelist"): (284, 61, 84, 8, 0),
    ("x86", "default"): (0, 0, 0, 0, 437),
}
for (population, variant), kinds in KNOWN.items():
    row, = pick(result["rows"], population=population, variant=variant)
    equal(tuple(row[t] for t in TYPES), kinds, "%s, %s" % (population, variant))
for population in ("uml", "uml-merged", "x86"):
    kernel, = pick(result["rows"], population=population, variant="kernel")
    ours, = pick(result["rows"], population=population, variant="objfreelist")
    equal([kernel[t] for t in TYPES], [ours[t] for t in TYPES], "the kernel's own census of " + population)
for row in pick(result["rows"], variant="default"):
    equal(row["waste_bytes"], 0, "waste by default in " + row["population"])
for row in pick(result["rows"], variant="before"):
    after, = pick(result["rows"], population=row["population"], variant="objfreelist")
    check(0 < after["waste_bytes"] < row["waste_bytes"], "OBJFREELIST does not waste less in " + row["population"])
agreement = result["ours"][1]
equal([row[:3] for row in agreement["rows"]], [["uml", 124, 124], ["uml-merged", 89, 89], ["x86", 437, 437]], "agreement")
check(all(row[3] > 0 for row in agreement["rows"]), "the rule for reclaimable caches makes no difference")

# A user's own listing, by hand: 64 * 1 <= 64: in the object; 128 * 1 > 32: in the slab, taking objects' place.
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "slabinfo")
    with open(path, "w", encoding="utf-8") as file:
        file.write("slabinfo - version: 2.1\n"
                   "# name <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables\n"
                   "mine-64 100 128 64 64 1 : tunables 0 0 0 : slabdata 2 2 0\n"
                   "mine-32 250 256 32 128 1 : tunables 0 0 0 : slabdata 2 2 0\n")
    mine = experiment("census", "--slabinfo", path)
    row, = pick(mine["rows"], population="yours", variant="objfreelist")
    equal([row[t] for t in TYPES], [1, 0, 1, 0, 0], "two caches of a listing")
    equal(row["waste_bytes"], 3 * 124, "250 objects of 124 a slab: three slabs, an array of 124 bytes in each")
    with open(path, "w", encoding="utf-8") as file:
        file.write("nothing of the kind\n")
    done = command("census", "--slabinfo", path, status=1)
    check("slabinfo" in done.stderr, "a file that is no listing is not named")
ok("census")
