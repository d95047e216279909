#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Verdicts follow the data: with the variants' figures exchanged, what held differs, and the other way round."""
import sys
from pathlib import Path

from common import check, equal, ok

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "experiments"))
from drystone_experiments import chained, contention, critics, repeat, result, segregated, worker  # noqa: E402


def swapped(rows, a, b, key="variant"):
    other = {a: b, b: a}
    return [{**row, key: other.get(row[key], row[key])} for row in rows]


def rows_of(costs, **more):
    """Three rounds of two sizes, each variant at its cost."""
    return [{"size": size, "variant": variant, "round": i, "alloc": cost * (1 + i / 100), "free": cost, "free_shuffled": cost, **more}
            for size in (256, 1024) for i in range(3) for variant, cost in costs.items()]


def holds(claims, words):
    claim, = [c for c in claims if words in c.says]
    return claim.holds


# Contention: filled first is cheaper and takes fewer locks, or neither.
rows = rows_of({"before": 100.0, "after": 65.0, "default": 20.0}, threads=2)
locks = {"before": 500.0, "after": 0.0, "default": 5.0}
counted = [{"size": s, "variant": v, "threads": 1, "round": 1, "alloc_node_locks": n} for s in (256, 1024) for v, n in locks.items()]
claims = contention.claims_of(rows, counted)
check(all(holds(claims, w) for w in ("less often", "cheaper", "not slower")), "contention as published")
check("35 % less" in result.verdict_of(claims), "the figure of the run is not in its verdict")
claims = contention.claims_of(swapped(rows, "before", "after"), swapped(counted, "before", "after"))
check(not holds(claims, "less often") and not holds(claims, "cheaper"), "contention turned round")
check(result.verdict_of(claims).startswith("Partly"), result.verdict_of(claims))
check(not holds(contention.claims_of(swapped(rows, "before", "default"), counted), "not slower"), "a default that is slow")

# Repeated alloc and free.
rows = rows_of({"before": 100.0, "objfreelist": 74.0, "default": 50.0})
rows = [{**row, "type": "off_slab" if row["variant"] == "before" else "objfreelist"} for row in rows]
check(holds(repeat.claims_of(rows, {}), "faster"), "repeat as published")
turned = [{**row, "alloc": 10000 / row["alloc"]} for row in rows]
claims = repeat.claims_of(turned, {})
check(not holds(claims, "faster") and "more time" in result.verdict_of(claims), "repeat turned round: " + result.verdict_of(claims))

# The chain.
rows = [{**row, "waste": 0} for row in rows_of({"published": 50.0, "chain": 40.0, "default": 20.0})]
events = {"chain": 60, "default": 50, "published": 90}
found = {(s, v): ({"Ir": n, "D1mr": 1, "D1mw": 0, "DLmr": 0, "DLmw": 0},) * 2 for s in (256, 1024) for v, n in events.items()}
check("is still right" in result.verdict_of(chained.claims_of(rows, found, (256, 1024))), "the chain as published")
cheap = {(s, {"chain": "default", "default": "chain"}.get(v, v)): parts for (s, v), parts in found.items()}
claims = chained.claims_of(swapped(rows, "chain", "default"), cheap, (256, 1024))
check("would no longer be" in result.verdict_of(claims) and not holds(claims, "the chain is slower"), "a cheap chain")

# Segregated lists.
old = {"boot_in_use_kb": 2000, "in_use_kb": 4000, "misses_32k": 40.0, "misses_2m": 0.0}
new = {"boot_in_use_kb": 1800, "in_use_kb": 3500, "misses_32k": 6.0, "misses_2m": 0.0}
seconds = [{"variant": v, "round": i, "seconds": s} for i in range(3) for v, s in (("sequential", 9.0), ("tiny", 1.0))]
claims = segregated.claims_of(seconds, {"sequential": old, "tiny": new})
check(all(c.holds for c in claims) and "9.0 times faster" in result.verdict_of(claims), "segregated as published")
claims = segregated.claims_of(swapped(seconds, "sequential", "tiny"), {"sequential": new, "tiny": old})
check(not any(c.holds for c in claims) and all(c.why for c in claims), "segregated turned round")
equal(segregated.claims_of(seconds, {"tiny": new})[0].holds, None, "without sequential fit nothing can be told")

# Critics.
columns = {"window_pages": (50, 60), "tlb1_misses": (400, 500), "tlb2_misses": (1, 9), "pages": (400, 700), "slabs": (100, 190),
           "slabs_thinned": (90, 190)}
counted = [{"size": s, "slabs_kind": k, "arrays": a, **{c: v[a == "default"] for c, v in columns.items()}}
           for s in (64, 256) for k in ("default", "published") for a in ("none", "small", "default")]
timed = [{"size": s, "variant": v, "round": i, "pair": p} for s in (64, 256) for i in range(3)
         for v, p in (("none", 200.0), ("small", 100.0), ("default", 30.0))]
check(all(c.holds for c in critics.claims_of(counted, timed)), "critics who are right")
claims = critics.claims_of(swapped(counted, "none", "default", "arrays"), swapped(timed, "none", "default"))
check(not any(c.holds for c in claims), "critics who are wrong")

# The arithmetic under it.
equal(worker.spread([3.0, 1.0, 2.0]), (2.0, 1.5, 2.5), "median and quartiles")
equal(worker.ratios([{"variant": "a", "round": 1, "x": 3.0}, {"variant": "b", "round": 1, "x": 2.0},
                     {"variant": "a", "round": 2, "x": 1.0}], "x", "a", "b"), [1.5], "ratios within a round")
equal([worker.percent(r) for r in (0.65, 1.2, 1.001)], ["35 % less", "20 % more", "as much"], "percent")
ok("verdict")
