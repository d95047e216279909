# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""4. Freelist as a stack, descriptor in the page."""
from . import plot, published, worker
from .result import Claim, Plot, Result, Table, verdict_of

VARIANTS = {"threaded": "threaded list", "stack": "stack", "stack_bytes": "stack of bytes", "default": "drystone's default"}
LINES = ["refill_index", "refill_descriptors", "flush_index", "flush_descriptors"]


def layout_table(layout):
    rows = []
    for size in sorted({row["size"] for row in layout}):
        line = [size]
        for variant in VARIANTS:
            row, = worker.pick(layout, size=size, variant=variant)
            line.append(row["objects"] if row["pages"] == 1 else "%d (%.1f a page)" % (row["objects"],
                                                                                    row["objects"] / row["pages"]))
        rows.append(line)
    return Table("Objects per slab", ["slot", *VARIANTS.values()], rows,
                 "The document's listing is of 4-byte entries, before and after; bytes are its third step. kmalloc-96 has "
                 "slots of 128 bytes.")


def lines_table(lines):
    rows = []
    for size in sorted({row["size"] for row in lines}):
        for variant in ("threaded", "stack", "stack_bytes"):
            row, = worker.pick(lines, size=size, variant=variant)
            rows.append([size, VARIANTS[variant]] + ["%.0f" % row[column] for column in LINES])
    return Table("Cache lines touched for 1,000 objects (each counted once a batch)",
                 ["slot", "freelist", "refill: index array", "descriptors", "flush: index array", "descriptors"], rows,
                 "A random three quarters of the objects is freed and allocated again. Drystone's bitmap has no index array; it is in "
                 "the descriptor's line.")


def count_messaging(ctx, loops):
    """{variant: (instructions, first-level misses, last-level misses)} a message."""
    found, messages = {}, 50 * 20 * 20 * loops
    if not worker.have_callgrind():
        return found
    for variant in VARIANTS:
        ctx.say("messaging under callgrind, " + VARIANTS[variant])
        events, = worker.callgrind(ctx, "freelist", "messaging", loops, variant, functions=["messaging_run"])
        found[variant] = [value / messages for value in (events["Ir"], *worker.misses(events))]
    return found


def messaging_table(found, rows, unit, loops):
    table = []
    for variant, title in VARIANTS.items():
        counts = found.get(variant)
        table.append([title] + (["%.1f" % counts[0], "%.2f" % counts[1], "%.3f" % counts[2],
                                 "%.3f" % (counts[2] / found["threaded"][2])] if counts else ["–"] * 4) +
                     ["%.0f" % worker.median_of(worker.pick(rows, variant=variant), "message"),
                      worker.spread_text(worker.ratios(rows, "message", variant, "threaded"))])
    return Table("Messaging, 50 groups of 40 tasks: a message",
                 ["freelist", "instructions", "misses, 32 KiB", "misses, 2 MiB", "ratio", unit, "ratio"], table,
                 "Counts by callgrind, %d loops. Ratios are to the threaded list." % loops)


def claims_of(layout, lines, found, rows):
    ours = {(r["size"], r["variant"]): r["objects"] for r in layout}
    same = all(ours[slot, "threaded"] == before and ours[slot, "stack"] == after
               for slot, before, after in published.STACK_OBJECTS.values())
    claims = [Claim("one object a slab more: kmalloc-32 112 → 113, kmalloc-64 59 → 60, kmalloc-96 and -128 30 → 31", same,
                    "; ".join("%d bytes %d → %d" % (slot, ours[slot, "threaded"], ours[slot, "stack"]) for slot in (32, 64, 128)),
                    "" if same else "the layouts are not the document's",
                    "the objects per slab are the document's" if same else "")]
    total = {v: [sum(r[column] for r in lines if r["variant"] == v) for column in LINES] for v in ("threaded", "stack")}
    fewer = [total["stack"][i] / total["threaded"][i] for i in range(4)]
    claims.append(Claim(
        "neighbouring entries and no descriptor of its own: fewer lines", fewer[0] < 1 and fewer[3] < 1,
        "over all sizes refills touch %s lines of index arrays, flushes %s lines of descriptors" % (
            worker.fewer(fewer[0]), worker.fewer(fewer[3])),
        brief="refills touch %s lines of index arrays, flushes %s of descriptors" % (
            worker.fewer(fewer[0]), worker.fewer(fewer[3]))))
    if found:
        ratio = [found["stack"][i] / found["threaded"][i] for i in range(3)]
        default = found["default"][2] / found["threaded"][2]
        claims.append(Claim(
            "3.5 to 5 % fewer cache misses", ratio[2] < 0.98,
            "messaging has %.1f %% fewer misses in the first level and %.1f %% fewer in the last; drystone's default %.1f %% %s" % (
                100 * (1 - ratio[1]), 100 * (1 - ratio[2]), 100 * abs(1 - default), "fewer" if default < 1 else "more"),
            "" if ratio[2] < 0.98 else "the messages themselves cause nearly all of them",
            "messaging misses the last-level cache %.1f %% less often (published: 3.5 to 5)" % (100 * (1 - ratio[2]))))
    middle, low, high = worker.spread(worker.ratios(rows, "message", "stack", "threaded"))
    tells = high < 1.0 or low > 1.0
    claims.append(Claim("3.1 % less time", middle < 1.0 if tells else None,
                        "time to that of the threaded list %.3f [%.3f–%.3f]%s" % (
                            middle, low, high, "" if tells else ", which is too near to 1 to tell"),
                        "" if not tells or middle < 1.0 else "a miss costs little where the whole fits the last-level cache",
                        "it takes %.1f %% %s time (published: 3.1 less)" % (100 * abs(1 - middle), "less" if middle < 1 else "more")))
    return claims


def run(ctx):
    _, layout = worker.run(ctx, "freelist", "layout")
    ctx.say("lines touched")
    _, lines = worker.run(ctx, "freelist", "lines", ctx.size(20000, 8000), counting=True)
    count_loops, loops, rounds = ctx.size(12, 1), ctx.size(25, 1), ctx.size(15, 2)
    found = count_messaging(ctx, count_loops)
    ctx.say("messaging, %d loops, %d rounds" % (loops, rounds))
    notes, rows = worker.run(ctx, "freelist", "time", loops, rounds)
    claims = claims_of(layout, lines, found, rows)
    result = Result(
        "freelist", "Freelist as a stack, descriptor in the page",
        "What does a slab gain when its list of free indices becomes a stack and its descriptor moves into the page's?",
        "A slab cache is rebuilt twice in the experiment alone: as it was in 2013 (a separate descriptor of 40 bytes, a list threaded "
        "through an index array) and as the document left it (a stack of indices, the descriptor in the page descriptor); drystone's "
        "default stands beside them. Objects per slab follow from the layouts, cache lines are counted batch by batch, and "
        "cache misses by callgrind's model while 50 groups of 20 senders and 20 receivers exchange messages (a header of 256 bytes and "
        "512 of data for each). The same is timed, the variants in turn, %d rounds." % rounds,
        verdict_of(claims), "drystone experiment freelist", claims=claims, timed=True)
    seconds, misses = published.STACK_SECONDS, published.STACK_MISSES
    result.published = [
        Table(published.STACK + ": objects per slab", ["cache", "before", "after"],
              [[name, before, after] for name, (_, before, after) in published.STACK_OBJECTS.items()]),
        Table(published.STACK + ": perf bench sched messaging -g 50 -l 1000, 4 CPUs", ["", "before", "after", "ratio"],
              [["cache misses", *misses, "%.3f" % (misses[1] / misses[0])],
               ["seconds", "%.3f" % seconds[0], "%.3f" % seconds[1], "%.3f" % (seconds[1] / seconds[0])]])]
    unit = notes.get("unit", "cycles")
    result.ours = [layout_table(layout), lines_table(lines), messaging_table(found, rows, unit, count_loops)]
    if plot.available():
        sizes = sorted({row["size"] for row in lines})
        series = {VARIANTS[v]: [worker.pick(lines, size=s, variant=v)[0]["refill_index"] for s in sizes]
                  for v in ("threaded", "stack", "stack_bytes")}
        result.plots.append(Plot("Lines of index arrays that refills touch, for 1,000 objects",
                                 plot.bars("freelist-lines", "Cache lines touched by refills", [str(s) for s in sizes], series,
                                           "cache lines", "object size, bytes")))
        if found:
            series = {"32 KiB": [found[v][1] / found["threaded"][1] for v in VARIANTS],
                      "2 MiB": [found[v][2] / found["threaded"][2] for v in VARIANTS]}
            result.plots.append(Plot("Messaging: cache misses to those with the threaded list",
                                     plot.bars("freelist-misses", "Cache misses in messaging",
                                               [title.replace(" ", "\n", 1) for title in VARIANTS.values()], series, "ratio")))
    result.csv_header = ["part", "size", "variant", "round", "figure", "value"]
    for row in layout:
        result.csv_rows.append(["layout", row["size"], row["variant"], "", "objects_per_slab", row["objects"]])
        result.csv_rows.append(["layout", row["size"], row["variant"], "", "pages_per_slab", row["pages"]])
    result.csv_rows += [["lines", row["size"], row["variant"], "", column + "_lines_per_1000", row[column]]
                        for row in lines for column in LINES]
    for variant, counts in found.items():
        for figure, value in zip(("instructions", "misses_32k", "misses_2m"), counts):
            result.csv_rows.append(["messaging", "", variant, "", figure, round(value, 4)])
    result.csv_rows += [["messaging", "", row["variant"], row["round"], unit, row["message"]] for row in rows]
    return result
