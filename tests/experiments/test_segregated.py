#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Sequential fit against segregated lists: memory, which is the same in every round."""
from common import check, equal, experiment, ok, positive

MEMORY = ("boot_in_use_kb", "boot_touched_kb", "in_use_kb", "touched_kb", "objects_kb", "resident_kb")
result = experiment("segregated")  # it fails by itself if a second round takes other memory
found = {row["allocator"]: {key: row[key] for key in MEMORY} for row in result["rows"]}
equal(sorted(found), ["core", "sequential", "tiny"], "allocators")
positive(result["rows"], "ns_a_message", "instructions", *MEMORY)
for allocator, mine in found.items():
    check(mine["boot_in_use_kb"] >= mine["objects_kb"], allocator + ": less memory than objects")
    check(mine["in_use_kb"] >= mine["resident_kb"], allocator + ": less memory than resident objects")
for column in ("boot_in_use_kb", "in_use_kb"):
    check(found["tiny"][column] <= found["sequential"][column], "segregated lists take more memory: " + column)
ok("segregated")
