# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Contention on the simulated machine: waits and hold times in steps, on 2 to 64 CPUs."""
import csv

from . import plot, worker
from .result import Claim, Plot, Table

VARIANTS = {"attach_first": "attached first", "published": "filled first", "default": "drystone's default"}
LIMITS = {64: 120, 256: 120, 1024: 54, 4096: 24}  # of Linux's array caches, as in the worker
LOCKS = ("node", "shared", "page")


def measure(ctx):
    """Rows of sim_contention, each with its variant; none if it was not built."""
    program = worker.find(ctx, "sim_contention", "sim")
    if program is None:
        return []
    objects, cpus, sizes = ctx.size((1000, "2,4,8,16,32,64", list(LIMITS)), (200, "2,8", [64, 4096]))
    rows = []
    for size in sizes:
        for variant in VARIANTS:
            ctx.say("simulated CPUs, %d bytes, %s" % (size, VARIANTS[variant]))
            limit = 0 if variant == "default" else LIMITS[size]
            done = worker.execute([program, "--objects=%d" % objects, "--size=%d" % size, "--cpus=" + cpus,
                                   "--limit=%d" % limit, "--variant=" + variant], True)
            for row in csv.DictReader(done.stdout.splitlines()):
                if row["phase"] in ("alloc", "free") and row["lock"] in LOCKS:
                    rows.append({"variant": variant, **{key: worker.number(value) for key, value in row.items()}})
    return rows


def figure(rows, column, **wanted):
    """Of all locks, for one object."""
    found = worker.pick(rows, **wanted)
    return sum(row[column] for row in found) / (found[0]["cpus"] * found[0]["objects"]) if found else 0.0


def cpus_of(rows):
    return sorted({row["cpus"] for row in rows})


def sizes_of(rows):
    return sorted({row["size"] for row in rows})


def table(rows):
    lines = []
    for size in sizes_of(rows):
        for cpus in cpus_of(rows):
            line = [size, cpus]
            for variant in VARIANTS:
                wanted = {"size": size, "cpus": cpus, "variant": variant, "phase": "alloc"}
                line += ["%.0f" % (1000 * figure(rows, "acquired", **wanted)), "%.1f" % figure(rows, "wait_steps", **wanted),
                         "%.2f" % figure(rows, "hold_steps", **wanted)]
            lines.append(line)
    header = ["size", "CPUs"]
    for title in VARIANTS.values():
        header += [title + ": locks taken for 1,000", "steps waited for one", "steps held"]
    return Table("Simulated machine, allocation: node's, shared array's and page layer's locks together", header, lines,
                 "A step is an access that other CPUs may see, so work between two of them takes no time; all CPUs advance in turn. "
                 "Waited: steps that the whole machine took meanwhile. In frees drystone's bitmap counts a step an object under the "
                 "lock, the index arrays none, so steps held compare allocation only.")


def plots(rows):
    if not plot.available() or not rows:
        return []
    made = []
    for size in (sizes_of(rows)[0], sizes_of(rows)[-1]):
        series = {title: [figure(rows, "wait_steps", size=size, cpus=c, variant=v, phase="alloc") or None for c in cpus_of(rows)]
                  for v, title in VARIANTS.items()}
        caption = "Simulated: steps waited for locks to allocate one object of %d bytes" % size
        made.append(Plot(caption, plot.lines("simulated-%d" % size, caption, cpus_of(rows), series, "CPUs",
                                             "steps of the machine", logy=True)))
    return made


def claims(rows):
    if not rows:
        return [Claim("contention grows with CPUs", None, "the simulated machine is not built here")]
    most, size = cpus_of(rows)[-1], sizes_of(rows)[-1]
    waited = {v: worker.geometric_mean(max(figure(rows, "wait_steps", size=s, cpus=most, variant=v, phase="alloc"), 1e-3)
                                       for s in sizes_of(rows)) for v in VARIANTS}
    holds = waited["published"] < waited["attach_first"]
    return [Claim(
        "the saving is one of contention, so it grows with CPUs", holds,
        "on %d simulated CPUs an allocation waits %.0f steps of the machine when slabs are attached first, %.0f when they are filled "
        "first and %.0f by default (geometric mean of the sizes), at %d bytes %s" % (
            most, waited["attach_first"], waited["published"], waited["default"], size,
            ", ".join("%.0f" % figure(rows, "wait_steps", size=size, cpus=most, variant=v, phase="alloc") for v in VARIANTS)),
        "" if holds else "the lock of the page layer takes the place of the node's",
        "on %d simulated CPUs waits for locks shrink to 1/%.1f, by default to 1/%.0f" % (
            most, waited["attach_first"] / waited["published"], waited["attach_first"] / waited["default"]))]


COLUMNS = ["variant", "cpus", "objects", "size", "phase", "lock", "acquired", "tried_in_vain", "waited", "wait_steps", "hold_steps",
           "steps"]


def csv_rows(rows):
    return [[row[column] for column in COLUMNS] for row in rows]
