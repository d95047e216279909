# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""3. Contention on the node's lock."""
from . import published, simulated, timing, worker
from .result import Claim, Result, Table, verdict_of

VARIANTS = {"before": "attached first", "after": "filled first", "default": "drystone's default"}
COUNTS = ["alloc_node_locks", "alloc_shared_locks", "free_node_locks", "free_shared_locks"]


def locks_table(counted):
    """From the run with one thread: the same on every machine and in every run."""
    rows = []
    for size in timing.sizes_of(counted):
        line = [size]
        for variant in VARIANTS:
            first = worker.pick(counted, size=size, variant=variant)[-1]
            line += ["%.1f" % first["alloc_node_locks"], "%.1f" % first["free_node_locks"]]
        rows.append(line)
    header = ["size"]
    for title in VARIANTS.values():
        header += [title + ", alloc", "free"]
    return Table("Times that a node's lock is taken, per 1,000 allocations (one thread, counted)", header, rows,
                 "Frees also take the lock of the node's shared array once per batch.")


def claims_of(rows, counted):
    sizes = timing.sizes_of(rows)
    mean = {(key, column): worker.geometric_mean(timing.median_ratio(rows, s, column, key, "before") for s in sizes)
            for key in ("after", "default") for column in ("alloc", "free")}
    locks = {key: sum(worker.pick(counted, size=s, variant=key)[-1]["alloc_node_locks"] for s in sizes) for key in VARIANTS}
    fewer = all(worker.pick(counted, size=s, variant="after")[-1]["alloc_node_locks"] <
                worker.pick(counted, size=s, variant="before")[-1]["alloc_node_locks"] for s in sizes)
    ratio = mean["after", "alloc"]
    cheaper = ratio < 0.82  # at least half of what was published
    per = tuple(locks[k] / len(sizes) for k in VARIANTS)
    return [
        Claim("filling the array from a new slab first takes the node's lock less often", fewer,
              "over all sizes allocation takes the node's lock %.1f times per 1,000 objects when slabs are attached first, %.1f when "
              "they are filled first, %.1f by default" % per,
              "" if fewer else "an array takes fewer objects than a slab has",
              "filling first takes the node's lock %.1f times per 1,000 allocations where attaching first takes it %.1f "
              "times" % (per[1], per[0])),
        Claim("allocation gets 30 to 40 % cheaper for every size", cheaper,
              "allocation on all CPUs at once costs %s when slabs are filled first" % worker.percent(mean["after", "alloc"]),
              "" if cheaper else "%d CPUs contend little (the simulated machine shows how it grows)" % counted_cpus(rows),
              "allocation on %d CPUs costs %s (published: 35 %% less)" % (counted_cpus(rows),
                                                                         worker.percent(mean["after", "alloc"]))),
        Claim("drystone's default is not slower", mean["default", "alloc"] <= 1.0,
              "drystone's default costs %s to allocate and %s to free" % (worker.percent(mean["default", "alloc"]),
                                                                          worker.percent(mean["default", "free"])),
              brief="by drystone's default it costs %s" % worker.percent(mean["default", "alloc"])),
    ]


def counted_cpus(rows):
    return max(row["threads"] for row in rows)


def run(ctx):
    objects, rounds = ctx.size(20000, 2000), ctx.size(21, 2)
    ctx.say("locks, counted")
    _, counted = worker.run(ctx, "contention", objects, 1, 1, counting=True)
    ctx.say("%d objects on every CPU, %d rounds of each size" % (objects, rounds))
    notes, rows = worker.run(ctx, "contention", objects, rounds)
    machine = simulated.measure(ctx)
    claims = claims_of(rows, counted) + simulated.claims(machine)
    cpus = counted_cpus(rows)
    result = Result(
        "contention", "Contention on the node's lock",
        "How much of the cost of allocation on all CPUs at once is the node's lock, and what is saved by filling an array cache "
        "from a new slab before the slab is attached to the node?",
        "Each of %d threads, one a CPU, allocates %s objects of one size at the same time as the others, then all free theirs; "
        "slabs and array caches are Linux's (OBJFREELIST rules), but for drystone's default. The variants take turns, %d "
        "rounds, and start each without slabs; ratios are taken within a round, median and quartiles are shown. Rounds of the "
        "locks are counted with one thread, where no scheduler has a say, and waits on a simulated machine with 2 to 64 CPUs." %
        (cpus, format(objects, ","), rounds), verdict_of(claims), "drystone experiment contention", claims=claims, timed=True)
    result.published = [Table(
        published.REFILL + ": cycles for alloc / free, N alloc then N free on all CPUs",
        ["size", "alloc before", "after", "ratio", "free before", "after", "ratio"],
        [[s, a, c, "%.2f" % (c / a), b, d, "%.2f" % (d / b)] for s, (a, b, c, d) in published.CONTENTION.items()])]
    unit = notes.get("unit", "cycles")
    result.ours = [
        timing.ratio_table("%s per operation with the slab attached first, and ratio to it" % unit.capitalize(), rows, VARIANTS,
                           "before", {"alloc": "alloc", "free": "free"}), locks_table(counted)]
    if machine:
        result.ours.append(simulated.table(machine))
        result.more_csv["contention_simulated"] = (simulated.COLUMNS, simulated.csv_rows(machine))
    result.plots = timing.ratio_plot("contention", "Allocation on %d CPUs: cost to that with slabs attached first" % cpus, rows,
                                     VARIANTS, "before", "alloc",
                                     {s: c / a for s, (a, b, c, d) in published.CONTENTION.items()}, "ratio, alloc") + simulated.plots(machine)
    result.csv_header = ["size", "variant", "threads", "round", "alloc", "free", "unit", *COUNTS]
    result.csv_rows = [[r["size"], r["variant"], r["threads"], r["round"], r["alloc"], r["free"], unit] + [r[c] for c in COUNTS]
                       for r in counted + rows]
    return result
