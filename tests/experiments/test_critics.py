#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Critics of array queues: counts that are the same in every run, and hold together."""
from common import check, equal, experiment, ok, pick, positive

first, second = experiment("critics"), experiment("critics")
counted = pick(first["rows"], part="count")
equal(counted, pick(second["rows"], part="count"), "counts of two runs")
equal(len(counted), 3 * 2 * 3, "sizes, slabs, arrays")
positive(pick(first["rows"], part="time"), "pair")
objects = 4000  # of the quick size
for row in counted:
    name = "%d bytes, %s slabs, %s arrays" % (row["size"], row["slabs_kind"], row["arrays"])
    check(1 <= row["window_pages"] <= 64, name + ": pages of 64 allocations")
    # Half of the objects are live: they need that many pages, and lie in no more than there are objects.
    check(objects / 2 * row["size"] / 4096 <= row["pages"] <= objects / 2, name + ": pages of live objects")
    check(0 < row["fill"] <= 100 and row["slabs_shrunk"] <= row["slabs_thinned"], name + ": slabs")
    equal(row["limit"] == 0, row["arrays"] == "none", name + ": limit")
for size in (64, 256, 1024):
    none, = pick(counted, size=size, slabs_kind="default", arrays="none")
    default, = pick(counted, size=size, slabs_kind="default", arrays="default")
    check(none["pages"] < default["pages"], "%d bytes: without arrays the fullest slab is not used first" % size)
ok("critics")
