# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""2. Repeated alloc, then free."""
from . import published, timing, worker
from .result import Claim, Result, Table, verdict_of

VARIANTS = {"before": "without OBJFREELIST", "objfreelist": "with OBJFREELIST", "default": "drystone's default"}


MARKS = ["repeat_alloc", "repeat_free", "repeat_end"]


def count(ctx, objects, sizes):
    """{(size, variant): ((instructions, last-level misses) of an allocation, of a free)}"""
    found = {}
    for size in sizes if worker.have_callgrind() else []:
        for variant, title in VARIANTS.items():
            ctx.say("%d bytes under callgrind, %s" % (size, title))
            parts = worker.callgrind(ctx, "repeat", "count", objects, size, variant, functions=[], marks=MARKS)
            found[size, variant] = tuple((part["Ir"] / objects, worker.misses(part)[1] / objects) for part in parts)
    return found


def counts_table(found):
    rows = []
    for size in sorted({size for size, _ in found}):
        for variant, title in VARIANTS.items():
            (alloc, alloc_misses), (free, free_misses) = found[size, variant]
            rows.append([size, title, "%.0f" % alloc, "%.2f" % alloc_misses, "%.0f" % free, "%.2f" % free_misses])
    return Table("Instructions and misses in a last-level cache of 2 MiB, per operation (callgrind)",
                 ["size", "rules", "alloc: instructions", "misses", "free: instructions", "misses"], rows,
                 "Frees also look for second frees, which Linux's did not: by a scan of the index array, or by the bit of the bitmap.")


def counted_claim(found):
    """What the counts say about OBJFREELIST, which no clock disturbs; and the reason why a clock may disagree."""
    sizes = sorted({size for size, _ in found})
    mean = {v: [worker.geometric_mean(found[s, v][part][0] for s in sizes) for part in (0, 1)] for v in VARIANTS}
    misses = {v: [sum(found[s, v][part][1] for s in sizes) / len(sizes) for part in (0, 1)] for v in VARIANTS}
    before, after = mean["before"], mean["objfreelist"]
    holds = after[0] < before[0] and misses["objfreelist"][0] <= misses["before"][0]
    claim = Claim(
        "by counts OBJFREELIST makes allocation cheaper", holds,
        "an allocation takes %s instructions and misses the last-level cache %.2f times instead of %.2f, a free takes %s instructions "
        "and misses it %.2f times instead of %.2f" % (
            worker.fewer(after[0] / before[0]), misses["objfreelist"][0], misses["before"][0], worker.fewer(after[1] / before[1]),
            misses["objfreelist"][1], misses["before"][1]),
        "" if holds else "an index array from another cache costs next to nothing here",
        "by counts an allocation with OBJFREELIST takes %s instructions" % worker.fewer(after[0] / before[0]))
    cold = misses["objfreelist"][1] > misses["before"][1]
    return claim, ("the array is written into an object that no cache holds at that moment, and what follows waits for the line, "
                   "where an array from another cache is warm%s" % (
                       " (a free misses the last-level cache %.2f times instead of %.2f)" % (
                           misses["objfreelist"][1], misses["before"][1]) if cold else ""))


def claims_of(rows, found):
    """The document: from 128 bytes on, where the type changes, allocation gets cheaper by 17 to 38 %."""
    changed = [size for size in timing.sizes_of(rows) if size >= 128 and
               {r["type"] for r in worker.pick(rows, size=size, variant="objfreelist")} !=
               {r["type"] for r in worker.pick(rows, size=size, variant="before")}]
    mean = {}
    for key in ("objfreelist", "default"):
        for column in ("alloc", "free"):
            mean[key, column] = worker.geometric_mean(
                timing.median_ratio(rows, size, column, key, "before") for size in changed)
    if not changed:
        return []
    counted, why = counted_claim(found) if found else (None, "an array from another cache costs little here")
    holds = mean["objfreelist", "alloc"] < 0.87  # at least half of what was published
    text = (changed[0], worker.percent(mean["objfreelist", "alloc"]), worker.percent(mean["objfreelist", "free"]))
    return ([counted] if counted else []) + [
        Claim("OBJFREELIST makes allocation of 128 bytes and more faster (published: 26 % less to allocate, 8 % less to free)",
              holds, "from %d bytes on OBJFREELIST takes %s time to allocate and %s to free" % text, "" if holds else why,
              "from %d bytes on it takes %s time to allocate (published: 26 %% less)" % text[:2]),
        Claim("drystone's default is not slower than the published types", mean["default", "alloc"] <= 1.0,
              "against the rules without OBJFREELIST drystone's default takes %s to allocate and %s to free" % (
                  worker.percent(mean["default", "alloc"]), worker.percent(mean["default", "free"])),
              brief="drystone's default takes %s time" % worker.percent(mean["default", "alloc"])),
    ]


def run(ctx):
    objects, rounds = ctx.size(100000, 4000), ctx.size(21, 2)
    ctx.say("%d objects, %d rounds of each size" % (objects, rounds))
    notes, rows = worker.run(ctx, "repeat", "time", objects, rounds)
    found = count(ctx, ctx.size(20000, 2000), ctx.size([128, 256, 512, 1024, 2048, 4096], [256]))
    claims = claims_of(rows, found)
    result = Result(
        "repeat", "Repeated alloc, then free",
        "What does OBJFREELIST do to the speed of a program that allocates many objects and then frees them?",
        "One thread allocates %s objects of one size and then frees them all, with the array caches that Linux gives that size. "
        "The published rules without OBJFREELIST, with it, and drystone's default (with its own, larger slabs and its own array "
        "caches) take turns, %d rounds. Ratios are taken within a round, whose figure is the median of its pieces of 500 operations; "
        "shown are the median and, in brackets, the quartiles." %
        (format(objects, ","), rounds), verdict_of(claims), "drystone experiment repeat", claims=claims, timed=True)
    result.published = [Table(
        published.OBJFREELIST + ": cycles for alloc / free, 100,000 objects",
        ["size", "alloc before", "after", "ratio", "free before", "after", "ratio"],
        [[size, a, c, "%.2f" % (c / a), b, d, "%.2f" % (d / b)] for size, (a, b, c, d) in published.REPEAT.items()])]
    types = [[size] + ["%s, %d a slab" % (r["type"], r["objects"]) for r in
                       (worker.pick(rows, size=size, variant=v)[0] for v in VARIANTS)] for size in timing.sizes_of(rows)]
    unit = notes.get("unit", "cycles")
    result.ours = [
        timing.ratio_table("%s per operation without OBJFREELIST, and ratio to it" % unit.capitalize(), rows, VARIANTS, "before",
                           {"alloc": "alloc", "free": "free"}),
        *([counts_table(found)] if found else []),
        Table("Management type and objects per slab", ["size", *VARIANTS.values()], types)]
    result.plots = (
        timing.ratio_plot("repeat-alloc", "Allocation: cost to that without OBJFREELIST", rows, VARIANTS, "before", "alloc",
                          {size: c / a for size, (a, b, c, d) in published.REPEAT.items()}, "ratio, alloc") +
        timing.ratio_plot("repeat-free", "Free: cost to that without OBJFREELIST", rows, VARIANTS, "before", "free",
                          {size: d / b for size, (a, b, c, d) in published.REPEAT.items()}, "ratio, free"))
    result.csv_header = ["size", "variant", "round", "alloc", "free", "unit", "type", "objects_per_slab",
                         "alloc_instructions", "alloc_misses", "free_instructions", "free_misses"]
    for r in rows:
        counts = found.get((r["size"], r["variant"]))
        result.csv_rows.append([r["size"], r["variant"], r["round"], r["alloc"], r["free"], unit, r["type"], r["objects"]] +
                               ([round(value, 3) for part in counts for value in part] if counts else [""] * 4))
    return result
