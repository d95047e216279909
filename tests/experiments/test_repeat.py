#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Repeated alloc, then free: the types and objects per slab that it compares."""
from common import check, equal, experiment, ok, pick, positive

result = experiment("repeat")
rows = result["rows"]
equal(sorted({row["size"] for row in rows}), [32, 64, 128, 256, 512, 1024, 2048, 4096], "sizes")
positive(rows, "alloc", "free")
TYPES = {  # size: without OBJFREELIST, with it
    32: (("dedicated", 124), ("dedicated", 124)), 64: (("dedicated", 63), ("objfreelist", 64)),
    128: (("off_slab", 32), ("objfreelist", 32)), 256: (("off_slab", 16), ("objfreelist", 16)),
    1024: (("off_slab", 4), ("objfreelist", 4)), 4096: (("off_slab", 1), ("objfreelist", 1)),
}
for size, (before, after) in TYPES.items():
    for variant, wanted in (("before", before), ("objfreelist", after)):
        row = pick(rows, size=size, variant=variant)[0]
        equal((row["type"], row["objects_per_slab"]), wanted, "%d bytes, %s" % (size, variant))
    equal(pick(rows, size=size, variant="default")[0]["type"], "bitmap", "%d bytes, default" % size)
counted = {row["variant"]: row for row in rows if row["size"] == 256 and row["alloc_instructions"] != ""}
equal(sorted(counted), ["before", "default", "objfreelist"], "variants under callgrind")
for name, row in counted.items():
    # A hit is some 25 instructions; with refills and new slabs it is more, but no walk of anything.
    check(10 < row["alloc_instructions"] < 2000 and 10 < row["free_instructions"] < 2000, "%s: %r" % (name, row))
ok("repeat")
