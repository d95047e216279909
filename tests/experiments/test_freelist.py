#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Freelist as a stack: the document's objects per slab, and counts that are the same in every run."""
from common import check, equal, experiment, ok, pick, positive

first, second = experiment("freelist"), experiment("freelist")
rows = first["rows"]
objects = {(row["size"], row["variant"]): row["value"] for row in rows if row["figure"] == "objects_per_slab"}
for size, before, after, as_bytes in ((32, 112, 113, 124), (64, 59, 60, 63), (128, 30, 31, 31), (256, 15, 15, 15), (512, 8, 8, 8)):
    equal(tuple(objects[size, v] for v in ("threaded", "stack", "stack_bytes")), (before, after, as_bytes),
          "objects of %d bytes in a slab" % size)
equal(objects[64, "default"], 256, "drystone's own slab of 64-byte objects")


def counts(result):
    return {(row["part"], row["size"], row["variant"], row["figure"]): row["value"] for row in result["rows"]
            if row["part"] == "lines" or row["figure"].startswith(("instructions", "misses"))}


known = counts(first)
lines = {key: value for key, value in known.items() if key[0] == "lines"}
equal(lines, {key: value for key, value in counts(second).items() if key[0] == "lines"}, "cache lines of two runs")
for size in (32, 64, 128):
    threaded, stack = (lines["lines", size, v, "refill_index_lines_per_1000"] for v in ("threaded", "stack"))
    check(stack < threaded, "%d bytes: a stack touches no fewer lines than a threaded list" % size)
    threaded, stack = (lines["lines", size, v, "flush_descriptors_lines_per_1000"] for v in ("threaded", "stack"))
    check(stack < 0.7 * threaded, "%d bytes: the page's own descriptor saves no line" % size)
instructions = {key[2]: value for key, value in known.items() if key[3] == "instructions"}
equal(sorted(instructions), ["default", "stack", "stack_bytes", "threaded"], "variants under callgrind")
check(all(100 < value < 10000 for value in instructions.values()), "instructions a message: %r" % instructions)
positive(pick(rows, part="messaging"), "value")
ok("freelist")
