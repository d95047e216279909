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
    # 2,000 objects. Attached first: two rounds a slab, of which a sixteenth may be for who comes later. Filled first: none,
    # for an array holds more than a slab.
    slabs = -(-2000 // objects)
    check(slabs <= before["alloc_node_locks"] <= slabs + slabs // 16 + 1,
          "%d bytes, attached first: %s a thousand objects" % (size, before["alloc_node_locks"]))
    equal(after["alloc_node_locks"], 0, "%d bytes, filled first" % size)
    check(after["free_node_locks"] > 0, "%d bytes: frees took no lock" % size)

# The simulated machine: the same in each run, and waits that grow with CPUs.
simulated = first["more"]["contention_simulated"]
equal(simulated, second["more"]["contention_simulated"], "two runs of the simulated machine")


def taken(size, variant, cpus, lock):
    return sum(row["acquired"] for row in pick(simulated, size=size, variant=variant, cpus=cpus, lock=lock, phase="alloc"))


for cpus in (2, 8):
    check(taken(64, "attach_first", cpus, "node") >= 2 * cpus * 200 // 64, "attached first, the node's lock is taken twice a slab")
    equal(taken(4096, "published", cpus, "node"), 0, "filled first, slabs of one object never come to the node")
    check(taken(4096, "published", cpus, "page") >= cpus * 200, "a slab of one object for each object")
few, many = (sum(row["wait_steps"] for row in pick(simulated, size=4096, variant="attach_first", cpus=cpus, phase="alloc")) / cpus
             for cpus in (2, 8))
check(many > few, "more CPUs wait no longer")
ok("contention")
