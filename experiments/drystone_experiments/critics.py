# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""7. What critics of array queues hold."""
from . import plot, worker
from .result import Claim, Plot, Result, Table, verdict_of

ARRAYS = {"none": "none", "small": "small", "default": "drystone's default"}
SLABS = {"default": "drystone's", "published": "published"}
COLUMNS = ["limit", "window_pages", "tlb1_misses", "tlb2_misses", "pages", "slabs", "fill", "slabs_thinned", "fill_thinned",
           "slabs_shrunk", "fill_shrunk"]


def sizes_of(rows):
    return sorted({row["size"] for row in rows})


def tables(counted, timed, unit):
    locality, slabs = [], []
    for size in sizes_of(counted):
        for kind, kind_title in SLABS.items():
            for arrays, title in ARRAYS.items():
                r, = worker.pick(counted, size=size, slabs_kind=kind, arrays=arrays)
                name = "%s (%d)" % (title, r["limit"]) if r["limit"] else title
                locality.append([size, kind_title, name, "%.1f" % r["window_pages"], "%.0f" % r["tlb1_misses"],
                                 "%.1f" % r["tlb2_misses"], r["pages"]])
                slabs.append([size, kind_title, name, r["slabs"], "%.0f" % r["fill"], r["slabs_thinned"],
                              "%.0f" % r["fill_thinned"], r["slabs_shrunk"], "%.0f" % r["fill_shrunk"]])
    times = []
    for size in sizes_of(timed):
        mine = worker.pick(timed, size=size)
        times.append([size, "%.0f" % worker.median_of(worker.pick(mine, variant="none"), "pair")] +
                     [worker.spread_text(worker.ratios(mine, "pair", v, "none")) for v in ("small", "default")])
    return [
        Table("Locality: pages of 4 KiB that 64 allocations in a row lie in; TLB misses for 1,000 allocations; pages of all live "
              "objects", ["size", "slabs", "arrays (limit)", "pages of 64", "first-level misses", "second-level misses",
                          "pages in all"], locality),
        Table("Fragmentation: slabs, and how full they are of live objects", [
            "size", "slabs", "arrays (limit)", "after churn", "fill, %", "after half is freed", "fill, %", "after a shrink",
            "fill, %"], slabs),
        Table("What arrays are for: %s for an allocation and a free" % unit,
              ["size", "no arrays", "small arrays, ratio", "default arrays, ratio"], times),
    ]


def claims_of(counted, timed):
    mean = {}
    for column in ("window_pages", "tlb1_misses", "pages", "slabs", "slabs_thinned"):
        mean[column] = worker.geometric_mean(
            worker.pick(counted, size=s, slabs_kind=k, arrays="default")[0][column] /
            worker.pick(counted, size=s, slabs_kind=k, arrays="none")[0][column] for s in sizes_of(counted) for k in SLABS)
    second = {a: sum(r["tlb2_misses"] for r in counted if r["arrays"] == a) for a in ARRAYS}
    time = worker.geometric_mean(worker.spread(worker.ratios(worker.pick(timed, size=s), "pair", "default", "none"))[0]
                                 for s in sizes_of(timed))
    return [
        Claim("array queues lose spatial locality", mean["window_pages"] > 1.02,
              "64 allocations in a row lie in %s pages with default arrays than without any" % worker.fewer(mean["window_pages"]),
              "" if mean["window_pages"] > 1.02 else "what arrays hand out again lies as close together",
              "objects allocated in a row lie in %s pages" % worker.fewer(mean["window_pages"])),
        Claim("which costs TLB misses", second["default"] > second["none"],
              "allocations miss the second-level TLB %.1f times per 1,000 with default arrays and %.1f without, the first level %s" % (
                  second["default"] / (2 * len(sizes_of(counted))), second["none"] / (2 * len(sizes_of(counted))),
                  worker.percent(mean["tlb1_misses"])),
              "" if second["default"] > second["none"] else
              "an array hands out what was used last, whose page is still in the TLB"),
        Claim("array queues raise fragmentation", mean["slabs"] > 1.05,
              "after churn the live objects hold %s slabs with default arrays, and lie in %s pages; after half of them are freed "
              "%s slabs" % tuple(worker.fewer(mean[c]) for c in ("slabs", "pages", "slabs_thinned")),
              "" if mean["slabs"] > 1.05 else "flushes pass enough objects through the slabs",
              "after churn they hold %s slabs" % worker.fewer(mean["slabs"])),
        Claim("and they are there for speed", time < 1.0,
              "an allocation and a free take %s with default arrays than without any" % worker.percent(time),
              brief="for that an allocation and a free take %s" % worker.percent(time)),
    ]


def plots(counted):
    if not plot.available():
        return []
    groups = ["%d\n%s" % (s, SLABS[k]) for s in sizes_of(counted) for k in SLABS]

    def series(column):
        return {"arrays: " + title: [worker.pick(counted, size=s, slabs_kind=k, arrays=a)[0][column]
                                     for s in sizes_of(counted) for k in SLABS] for a, title in ARRAYS.items()}
    return [Plot("How full the slabs are of live objects after churn", plot.bars("critics-fill", "Fill of slabs", groups,
                                                                              series("fill"), "% of the slabs",
                                                                              "object size, slabs")),
            Plot("Pages that 64 allocations in a row lie in", plot.bars("critics-window", "Pages of 64 allocations", groups,
                                                                        series("window_pages"), "pages", "object size, slabs"))]


def run(ctx):
    objects, rounds = ctx.size(50000, 4000), ctx.size(11, 2)
    ctx.say("churn over %d objects, counted" % objects)
    _, counted = worker.run(ctx, "critics", "count", objects, counting=True)
    ctx.say("the same, timed, %d rounds" % rounds)
    notes, timed = worker.run(ctx, "critics", "time", objects, rounds)
    claims = claims_of(counted, timed)
    unit = notes.get("unit", "cycles")
    result = Result(
        "critics", "What critics of array queues hold",
        "Kernel maintainers hold, in 2007 and again in 2026, that queues of free objects in front of the slabs lose spatial locality "
        "and raise fragmentation. Do drystone's array caches do that?",
        "%s objects are allocated and half of them freed at random; then bursts of 1 to 256 random ones are freed and as many are "
        "allocated, until %s have been; then half of the rest is freed. The same is done without array caches, with small ones (8) and "
        "with those that drystone makes by itself, over its own slabs (up to 64 KiB) and over the published ones (4 KiB). Addresses "
        "go through a model of a TLB (64 entries before 1536), and slabs and their fill are drystone's own statistics; these counts "
        "are the same in every run." % (format(objects, ","), format(4 * objects, ",")),
        verdict_of(claims), "drystone experiment critics", claims=claims, timed=True)
    result.published = [Table("Discussions of 2007 and 2026 on the kernel's lists", ["claim", "figures given"],
                              [["array queues lose spatial locality", "none"], ["array queues raise fragmentation", "none"]])]
    result.ours, result.plots = tables(counted, timed, unit), plots(counted)
    result.csv_header = ["part", "size", "slabs_kind", "arrays", "round", *COLUMNS, "pair", "unit"]
    result.csv_rows = [["count", r["size"], r["slabs_kind"], r["arrays"], ""] + [r[c] for c in COLUMNS] + ["", ""] for r in counted]
    result.csv_rows += [["time", r["size"], "default", r["variant"], r["round"]] + [""] * len(COLUMNS) + [r["pair"], unit]
                        for r in timed]
    return result
