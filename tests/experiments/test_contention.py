#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Contention: rounds of the node's lock, which are the same in every run with one thread."""
from common import check, equal, experiment, ok, pick, positive

first, second = experiment("contention"), experiment("contention")
positive(first["rows"], "alloc", "free")


def counted(result):
    return {(row["size"], row["variant"]): (row["alloc_node_locks"], row["free_node_locks"], row["free_shared_locks"])
            for row in result["rows"] if row["threads"] == 1}


equal(counted(first), counted(second), "counts of two runs")
SLAB = {64: 64, 128: 32, 256: 16, 512: 8, 1024: 4, 2048: 2, 4096: 1}  # objects, with OBJFREELIST
for size, objects in SLAB.items():
    before, after = (pick(first["rows"], size=size, variant=v, threads=1)[0] for v in ("before", "after"))
    # 2,000 objects. Attached first: two rounds a slab. Filled first: none, for an array holds more than a slab.
    slabs = -(-2000 // objects)
    equal(before["alloc_node_locks"] * 2, 2 * slabs, "%d bytes, attached first" % size)
    equal(after["alloc_node_locks"], 0, "%d bytes, filled first" % size)
    check(after["free_node_locks"] > 0, "%d bytes: frees took no lock" % size)
ok("contention")
