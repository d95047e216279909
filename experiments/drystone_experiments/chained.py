# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""5. The freelist as a chain through free objects."""
from . import plot, published, timing, worker
from .result import Claim, Plot, Result, Table, verdict_of

VARIANTS = {"published": "published types", "chain": "chain", "default": "drystone's default"}
CRITICAL = ["dry_slab_take", "put_locked*"]  # what runs under the node's lock for each object
MARKS = ["chained_refill", "chained_flush", "chained_end"]


def critical_sections(ctx, objects, sizes):
    """{(size, variant): (refill, flush)} of events per object."""
    found = {}
    if not worker.have_callgrind():
        return found
    for size in sizes:
        for variant in VARIANTS:
            ctx.say("critical section of %s, %d bytes" % (VARIANTS[variant], size))
            parts = worker.callgrind(ctx, "chained", "count", objects, size, variant, functions=CRITICAL, marks=MARKS)
            if not parts[0].get("Ir"):
                return {}  # a library without symbols
            found[size, variant] = [{event: 2.0 * value / objects for event, value in part.items()} for part in parts]
    return found


def misses(part):
    return worker.misses(part)[0]


def critical_table(found, sizes):
    rows = []
    for size in sizes:
        for variant, title in VARIANTS.items():
            refill, flush = found[size, variant]
            rows.append([size, title, "%.1f" % refill["Ir"], "%.2f" % misses(refill), "%.1f" % flush["Ir"],
                         "%.2f" % misses(flush)])
    return Table("Inside the critical section, per object (callgrind; 32 KiB first-level cache)",
                 ["size", "freelist", "refill: instructions", "cache misses", "flush: instructions", "cache misses"], rows,
                 "Refill from partly used slabs after frees in random order, then frees in random order. Here every type also detects a "
                 "second free, which Linux's did not: the published ones by a scan of the index array, which makes their flush "
                 "dear, the chain by a mark, the bitmap by the object's bit.")


def waste_table(rows):
    table = []
    for size in timing.sizes_of(rows):
        line = [size]
        for variant in VARIANTS:
            r = worker.pick(rows, size=size, variant=variant)[0]
            line.append("%s: %d a slab of %d KiB, %d bytes wasted" % (r["type"], r["objects"], r["pages"] * 4, r["waste"]))
        table.append(line)
    return Table("Management and its waste", ["size", *VARIANTS.values()], table)


def claims_of(rows, found, sizes):
    waste = {v: sum(worker.pick(rows, size=s, variant=v)[0]["waste"] for s in timing.sizes_of(rows)) for v in VARIANTS}
    claims = [Claim("the chain wastes nothing", waste["chain"] == 0,
                    "waste summed over one slab of each size is %d bytes for the chain, %d for the default and %d for the "
                    "published types" % (waste["chain"], waste["default"], waste["published"]),
                    brief="the chain wastes nothing, as drystone's default" if waste["default"] == 0 else
                    "the chain wastes nothing, where the default wastes %d bytes" % waste["default"])]
    if found:
        cost = {(v, part): worker.geometric_mean(found[s, v][part]["Ir"] for s in sizes) for v in VARIANTS for part in (0, 1)}
        miss = {v: sum(misses(p) for s in sizes for p in found[s, v]) / len(sizes) for v in VARIANTS}
        both = {v: cost[v, 0] + cost[v, 1] for v in VARIANTS}
        dearer = both["chain"] > both["default"]
        claims.append(Claim(
            "the chain costs more in the critical section", dearer,
            "under the lock a refill takes %.0f instructions an object for the chain and %.0f for the default, a flush %.0f and "
            "%.0f, with %.2f and %.2f cache misses for both together" % (
                cost["chain", 0], cost["default", 0], cost["chain", 1], cost["default", 1], miss["chain"], miss["default"]),
            "" if dearer else "the default does more under the lock",
            "it costs %.0f instructions and %.1f cache misses an object under the lock where the default costs %.0f and %.1f, so "
            "dropping it %s right" % (both["chain"], miss["chain"], both["default"], miss["default"],
                                      "is still" if dearer else "would no longer be")))
    slower = worker.geometric_mean(timing.median_ratio(rows, s, "free_shuffled", "chain", "default")
                                   for s in timing.sizes_of(rows))
    claims.append(Claim("the chain is slower", slower > 1.0, "frees in random order take %.1f times the default's time" % slower))
    return claims


def run(ctx):
    objects, rounds = ctx.size(100000, 3000), ctx.size(11, 2)
    sizes = ctx.size([32, 64, 256, 1024, 4096], [64])
    ctx.say("%d objects, %d rounds of each size" % (objects, rounds))
    notes, rows = worker.run(ctx, "chained", "time", objects, rounds)
    found = critical_sections(ctx, ctx.size(20000, 4000), sizes)
    claims = claims_of(rows, found, sizes)
    result = Result(
        "chained", "The freelist as a chain through free objects",
        "The first document's author also tried a freelist that runs through the free objects; it wastes nothing, but it "
        "cost too much under the lock and was dropped. Does that still hold?",
        "The same %s objects are allocated and freed through a chain, the published types and drystone's default, with equal array "
        "caches, in turns, %d rounds. What runs under the node's lock for an object is counted by callgrind, refills and flushes "
        "apart. Waste is what the management takes from a slab." % (format(objects, ","), rounds),
        verdict_of(claims), "drystone experiment chained", claims=claims, timed=True)
    result.published = [Table(published.OBJFREELIST + ": the chain", ["waste", "critical section", "outcome"],
                              [["none", "more expensive (no figures given)", "left out"]])]
    unit = notes.get("unit", "cycles")
    result.ours = ([critical_table(found, sizes)] if found else []) + [
        waste_table(rows),
        timing.ratio_table("%s per operation of the published types, and ratio to it" % unit.capitalize(), rows, VARIANTS, "published",
                           {"alloc": "alloc", "free": "free in order", "free_shuffled": "free in random order"})]
    if found and plot.available():
        groups = [str(s) for s in sizes]
        series = {title: [found[s, v][0]["Ir"] + found[s, v][1]["Ir"] for s in sizes] for v, title in VARIANTS.items()}
        result.plots.append(Plot("Instructions under the lock for one object in and out",
                                 plot.bars("chained", "Instructions in the critical section", groups, series, "instructions",
                                           "object size, bytes")))
    result.csv_header = ["size", "variant", "round", "alloc", "free", "free_shuffled", "unit", "type", "objects_per_slab", "pages",
                         "waste", "refill_instructions", "refill_misses", "flush_instructions", "flush_misses"]
    for r in rows:
        parts = found.get((r["size"], r["variant"]))
        result.csv_rows.append([r["size"], r["variant"], r["round"], r["alloc"], r["free"], r["free_shuffled"], unit, r["type"],
                                r["objects"], r["pages"], r["waste"]] +
                               ([round(parts[0]["Ir"], 2), round(misses(parts[0]), 3), round(parts[1]["Ir"], 2),
                                 round(misses(parts[1]), 3)] if parts else ["", "", "", ""]))
    return result
