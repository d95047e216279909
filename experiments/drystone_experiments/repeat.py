# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""2. Repeated alloc, then free."""
from . import published, timing, worker
from .result import Claim, Result, Table, verdict_of

VARIANTS = {"before": "without OBJFREELIST", "objfreelist": "with OBJFREELIST", "default": "drystone's default"}


def claims_of(rows):
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
    found = (changed[0], worker.percent(mean["objfreelist", "alloc"]), worker.percent(mean["objfreelist", "free"]))
    holds = mean["objfreelist", "alloc"] < 0.97
    return [
        Claim("OBJFREELIST makes allocation of 128 bytes and more cheaper (published: 26 % less to allocate, 8 % less to free)",
              holds, "from %d bytes on OBJFREELIST takes %s to allocate and %s to free" % found,
              "" if holds else
              "an index array that is not in the slab comes out of a per-CPU array here and stays in the processor's cache, "
              "where the kernel of the document paid more for it, and an array inside of the object touches a line that "
              "allocation otherwise leaves alone",
              "from %d bytes on OBJFREELIST takes %s cycles to allocate (published: 26 %% less)" % found[:2]),
        Claim("drystone's default is not slower than the published types", mean["default", "alloc"] <= 1.0,
              "against the rules without OBJFREELIST drystone's default takes %s to allocate and %s to free" % (
                  worker.percent(mean["default", "alloc"]), worker.percent(mean["default", "free"])),
              brief="drystone's default takes %s" % worker.percent(mean["default", "alloc"])),
    ]


def run(ctx):
    objects, rounds = ctx.size(100000, 4000), ctx.size(21, 2)
    ctx.say("%d objects, %d rounds of each size" % (objects, rounds))
    notes, rows = worker.run(ctx, "repeat", objects, rounds)
    claims = claims_of(rows)
    result = Result(
        "repeat", "Repeated alloc, then free",
        "What does OBJFREELIST do to the speed of a program that allocates many objects and then frees them?",
        "One thread allocates %s objects of one size and then frees them all, with the array caches that Linux gives that size. "
        "The published rules without OBJFREELIST, with it, and drystone's default (with its own, larger slabs and its own array "
        "caches) take turns, %d rounds. Ratios are taken within a round; shown are the median and, in brackets, the quartiles." %
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
        Table("Management type and objects per slab", ["size", *VARIANTS.values()], types)]
    result.plots = (
        timing.ratio_plot("repeat-alloc", "Allocation: cost to that without OBJFREELIST", rows, VARIANTS, "before", "alloc",
                          {size: c / a for size, (a, b, c, d) in published.REPEAT.items()}, "ratio, alloc") +
        timing.ratio_plot("repeat-free", "Free: cost to that without OBJFREELIST", rows, VARIANTS, "before", "free",
                          {size: d / b for size, (a, b, c, d) in published.REPEAT.items()}, "ratio, free"))
    result.csv_header = ["size", "variant", "round", "alloc", "free", "unit", "type", "objects_per_slab"]
    result.csv_rows = [[r["size"], r["variant"], r["round"], r["alloc"], r["free"], unit, r["type"], r["objects"]] for r in rows]
    return result
