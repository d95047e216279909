#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The chained freelist: its waste, and the instructions under the lock."""
from common import check, equal, experiment, ok, pick, positive

result = experiment("chained")
rows = result["rows"]
positive(rows, "alloc", "free", "free_shuffled")
for row in rows:
    if row["variant"] in ("chain", "default"):
        equal(row["waste"], 0, "waste of %s at %d bytes" % (row["variant"], row["size"]))
equal(pick(rows, size=32, variant="published")[0]["waste"], 124, "waste of the published type at 32 bytes")
counted = {row["variant"]: row for row in rows if row["size"] == 64 and row["refill_instructions"] != ""}
equal(sorted(counted), ["chain", "default", "published"], "variants that were counted")
for name, row in counted.items():
    for column in ("refill_instructions", "flush_instructions"):
        # A take or put is more than a load and a store, and less than a walk of a whole slab.
        check(4 < row[column] < 1000, "%s, %s: %r instructions an object" % (name, column, row[column]))
check(counted["chain"]["refill_misses"] > counted["default"]["refill_misses"], "a chain touches no more than a bitmap")
ok("chained")
