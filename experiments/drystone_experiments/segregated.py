# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""6. Sequential fit against segregated lists."""
import statistics

from . import plot, published, worker
from .result import Claim, Plot, Result, Table, verdict_of

ALLOCATORS = {"sequential": "sequential fit", "tiny": "segregated lists", "core": "drystone, same pool"}
POPULATION = "caches-linux-6.1-uml-slab-nomerge.csv"
POOL_KB = 12288
HOLES = 33  # per cent more resident objects, freed again at random before the messaging
MESSAGES_A_LOOP = 4 * 20 * 20
MEMORY = {"boot_in_use_kb": "in use after boot, kB", "boot_touched_kb": "touched", "in_use_kb": "most in use while messaging",
          "touched_kb": "touched"}


def figures(text):
    return {line.split()[0]: float(line.split()[1]) for line in text.splitlines()}


def program(ctx, name, allocator):
    return ctx.workers / ("%s-%s" % (name, allocator))


def built(ctx):
    return [allocator for allocator in ALLOCATORS if program(ctx, "messaging", allocator).exists()]


def messaging(ctx, allocator, loops):
    return [program(ctx, "messaging", allocator), ctx.data / POPULATION, loops, HOLES, 0, POOL_KB]


def memory(ctx):
    """{allocator: figures}: in a pool, by the allocator's own count and by the pages that were written to."""
    found = {}
    for allocator in built(ctx):
        ctx.say("boot population, " + ALLOCATORS[allocator])
        boot = figures(worker.execute([program(ctx, "boot", allocator), ctx.data / POPULATION, POOL_KB], True).stdout)
        found[allocator] = {"boot_in_use_kb": boot["in_use_kb"], "boot_touched_kb": boot["touched_kb"],
                            "objects_kb": boot["objects_kb"]}
    return found


def timed(ctx, loops, rounds, found):
    """Rows of seconds, the allocators in turn; what memory it took goes into found."""
    rows = []
    for done in range(rounds):
        ctx.say("messaging, round %d of %d" % (done + 1, rounds))
        order, turn = list(found), done % len(found)
        for allocator in order[turn:] + order[:turn]:
            now = figures(worker.execute(messaging(ctx, allocator, loops), False).stdout)
            rows.append({"variant": allocator, "round": done + 1, "seconds": now["seconds"],
                         "message": 1e9 * now["seconds"] / (MESSAGES_A_LOOP * loops)})
            took = {key: now[key] for key in ("in_use_kb", "touched_kb", "resident_kb")}
            if done and allocator != "core" and took.items() - found[allocator].items():
                raise worker.Failed("%s took other memory for the same calls: %s" % (allocator, took))
            found[allocator].update(took)
    return rows


def counts(ctx, loops, found):
    """Instructions and misses a message, as the difference of two runs, one of twice the length."""
    for allocator in found if worker.have_callgrind() else []:
        ctx.say("messaging under callgrind, " + ALLOCATORS[allocator])
        short, long = (worker.callgrind_of(messaging(ctx, allocator, n)) for n in (loops, 2 * loops))
        for figure, pick in (("instructions", lambda e: e["Ir"]), ("misses_32k", lambda e: worker.misses(e)[0]),
                             ("misses_2m", lambda e: worker.misses(e)[1])):
            found[allocator][figure] = max(pick(long) - pick(short), 0) / (MESSAGES_A_LOOP * loops)


def speed_table(rows, found):
    lines = []
    for allocator, mine in found.items():
        lines.append([ALLOCATORS[allocator], "%.0f" % statistics.median(r["message"] for r in worker.pick(rows, variant=allocator)),
                      worker.spread_text(worker.ratios(rows, "seconds", allocator, "sequential"))] +
                     (["%.0f" % mine["instructions"], "%.1f" % mine["misses_32k"], "%.2f" % mine["misses_2m"]]
                      if "misses_2m" in mine else ["–"] * 3))
    return Table("Messaging, 4 groups of 40 tasks over a system's resident objects: a message",
                 ["allocator", "ns", "ratio", "instructions", "misses, 32 KiB", "misses, 2 MiB"], lines,
                 "Counts by callgrind. Ratios are to sequential fit. Drystone's core is made for more memory than such a pool has: its arrays "
                 "are small there.")


def memory_table(found):
    lines = [[ALLOCATORS[a]] + ["%.0f" % mine[column] for column in MEMORY] for a, mine in found.items()]
    return Table("Memory", ["allocator", *MEMORY.values()], lines,
                 "The objects of the boot population take %.0f kB themselves, the resident ones of messaging %.0f. In use: by the "
                 "allocator's own count of pages; touched: pages of the pool ever written to." % (
                     found["tiny"]["objects_kb"], found["tiny"]["resident_kb"]))


def claims_of(rows, found):
    if "sequential" not in found:
        return [Claim("segregated lists are faster and take no more memory", None, "the allocator with sequential fit is not built here")]
    old, new = found["sequential"], found["tiny"]
    faster = statistics.median(worker.ratios(rows, "seconds", "sequential", "tiny"))
    claims = [Claim("segregated lists are 9 to 10 times faster", faster > 4.5,
                    "messaging is %.1f times faster with segregated lists" % faster,
                    "" if faster > 4.5 else "the sequential search finds room at once in so regular a load",
                    "messaging is %.1f times faster (published: 9.1)" % faster)]
    if "misses_2m" in new:
        level = "misses_2m" if old["misses_2m"] > 0.5 else "misses_32k"
        ratio = new[level] / old[level]
        claims.append(Claim("cache misses fall to 12 %", ratio < 0.56,
                            "misses in a cache of %s fall to %.0f %%" % ("2 MiB" if level == "misses_2m" else "32 KiB", 100 * ratio),
                            "" if ratio < 0.56 else "the messages themselves cause most of them",
                            "cache misses fall to %.0f %% (published: 12)" % (100 * ratio)))
    for column, says, name in (
            ("boot_in_use_kb", "no more memory after boot (7908 → 7560 kB)", "after boot"),
            ("in_use_kb", "no more memory after messaging (8544 → 7836 kB)", "while messaging")):
        less = new[column] / old[column]
        claims.append(Claim(says, less <= 1.0, "memory %s: %.0f → %.0f kB, %s" % (name, old[column], new[column],
                                                                                 worker.percent(less)),
                            "" if less <= 1.0 else "objects of different sizes may share a page in sequential fit",
                            "memory %s is %s (published: %d %% less)" % (name, worker.percent(less), 4 if "boot" in column else 8)))
    return claims


def run(ctx):
    loops, rounds, count_loops = ctx.size(400, 10), ctx.size(9, 2), ctx.size(20, 2)
    found = memory(ctx)
    rows = timed(ctx, loops, rounds, found)
    counts(ctx, count_loops, found)
    claims = claims_of(rows, found)
    result = Result(
        "segregated", "Sequential fit against segregated lists",
        "On machines of a few megabytes, what do segregated lists gain over one list that is searched, and do they need more "
        "memory?",
        "Two allocators for small machines with the same interface, one that searches a single list and one with a list for each "
        "size, and beside them drystone's core over the same pool, serve the objects of a booted Linux in random order and then a messaging load (4 "
        "groups of 20 senders and 20 receivers, %d loops, the pattern of hackbench -g 4) between objects of which a quarter was freed "
        "again. Each run is a process of its own, the allocators in turn, %d rounds. Cache misses a message are the "
        "difference of a short and a longer run under callgrind." % (loops, rounds),
        verdict_of(claims), "drystone experiment segregated", claims=claims, timed=True)
    result.published = [
        Table(published.SEGREGATED + ": 64 bit, hackbench -g 4 -l 10000", ["", "sequential fit", "segregated lists", "ratio"],
              [[name, *pair, "%.3f" % (pair[1] / pair[0])] for name, pair in (
                  ("seconds", published.SLOB_SECONDS), ("cache misses", published.SLOB_MISSES),
                  ("context switches", published.SLOB_SWITCHES), ("slab memory after boot, kB", published.SLOB_BOOT_KB),
                  ("after hackbench, kB", published.SLOB_AFTER_KB))] +
              [["32-bit tinyconfig after boot, kB", *published.SLOB_TINY_KB,
                "%.3f" % (published.SLOB_TINY_KB[1] / published.SLOB_TINY_KB[0])]])]
    result.ours = [speed_table(rows, found), memory_table(found)]
    if plot.available():
        names = [ALLOCATORS[a].replace(" ", "\n", 1) for a in found]
        result.plots = [
            Plot("Messaging: nanoseconds a message", plot.bars("segregated-time", "Time of a message", names, {
                "median": [statistics.median(r["message"] for r in worker.pick(rows, variant=a)) for a in found]},
                "ns")),
            Plot("Memory in use", plot.bars("segregated-memory", "Memory in use", names, {
                "after boot": [found[a]["boot_in_use_kb"] for a in found],
                "most while messaging": [found[a]["in_use_kb"] for a in found]}, "kB"))]
    columns = ["objects_kb", "resident_kb", *MEMORY, "instructions", "misses_32k", "misses_2m"]
    result.csv_header = ["allocator", "round", "seconds", "ns_a_message", *columns]
    result.csv_rows = [[r["variant"], r["round"], r["seconds"], round(r["message"], 2)] +
                       [round(found[r["variant"]][c], 3) if c in found[r["variant"]] else "" for c in columns] for r in rows]
    return result
