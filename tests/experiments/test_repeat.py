#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Repeated alloc, then free: the types and objects per slab that it compares."""
from common import equal, experiment, ok, pick, positive

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
ok("repeat")
