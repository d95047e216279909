# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""1. Census of management types."""
import csv

from . import plot, published, worker
from .result import Claim, Plot, Result, Table, verdict_of

TYPES = ["objfreelist", "leftover", "dedicated", "off_slab", "other"]
TITLES = ["OBJFREELIST", "leftover", "dedicated", "OFF_SLAB", "other"]
VARIANTS = {"before": "without OBJFREELIST", "objfreelist": "with OBJFREELIST", "default": "drystone's default"}
KERNEL_TYPES = {"OBJFREELIST": "objfreelist", "NORMAL_LEFTOVER": "leftover", "NORMAL_DEDICATED": "dedicated",
                "OFF_SLAB": "off_slab"}
RECLAIMABLE = 0x20000  # the kernel's SLAB_RECLAIM_ACCOUNT, in the column `flags`
POPULATIONS = {
    "uml": "caches-linux-6.1-uml-slab-nomerge.csv",
    "uml-merged": "caches-linux-6.1-uml-slab.csv",
    "x86": "caches-linux-6.1-x86-slab-nomerge.csv",
}


class Cache:
    def __init__(self, name, size, align, letters, active, kernel=None):
        self.name, self.size, self.align, self.letters = name.replace(" ", "_"), size, align, letters
        self.active, self.kernel = active, kernel
        self.ours = {}  # variant: row of the worker


def read_kernel(path):
    caches = []
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            letters = ("c" if row["ctor"] == "yes" else "") + ("r" if row["typesafe_by_rcu"] == "yes" else "")
            letters += "s" if int(row["flags"], 16) & RECLAIMABLE else ""
            kernel = {"type": KERNEL_TYPES[row["type"]], "slot": int(row["size"]), "objects": int(row["num"]),
                      "pages": 1 << int(row["gfporder"]), "colours": int(row["colour"]) + 1}
            caches.append(Cache(row["name"], int(row["object_size"]), int(row["align"]), letters,
                                int(row["active_objs"]), kernel))
    return caches


def read_slabinfo(path, known):
    """A listing gives sizes only; constructor and the like are taken from a cache of that name elsewhere."""
    caches = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            words = line.split()
            if line.startswith(("slabinfo", "#")) or len(words) < 6 or not words[3].isdigit():
                continue
            size = int(words[3])
            if 0 < size <= 4 << 20:
                # The size is that of a slot already.
                caches.append(Cache(words[0], size, 8, known.get(words[0], ""), int(words[1])))
    if not caches:
        raise worker.Failed("%s: no line of a cache in it; is it a /proc/slabinfo?" % path)
    return caches


def ask(ctx, caches, without=""):
    """Make each cache in drystone; returns a dictionary by (position, variant)."""
    lines = "".join("%s\t%d\t%d\t%s\n" % (c.name, c.size, c.align, "".join(x for x in c.letters if x not in without))
                    for c in caches)
    _, rows = worker.run(ctx, "census", given=lines)
    if len(rows) != len(caches) * len(VARIANTS):
        raise worker.Failed("census: %d answers for %d caches" % (len(rows), len(caches)))
    return {(i // len(VARIANTS), row["variant"]): row for i, row in enumerate(rows)}


def wasted(cache, row):
    """Bytes that management takes in the slabs that the cache's active objects need."""
    return -(-cache.active // row["objects"]) * row["waste"]


def count(caches, variant):
    kinds = dict.fromkeys(TYPES, 0)
    waste = wasteful = 0
    for cache in caches:
        row = cache.ours[variant]
        kinds[row["type"] if row["type"] in kinds else "other"] += 1
        waste += wasted(cache, row)
        wasteful += row["waste"] != 0
    return [kinds[t] for t in TYPES], waste, wasteful


def differences(caches, answers):
    """Where the kernel's own choice is known and drystone's under the same rules is another."""
    found = []
    for i, cache in enumerate(caches):
        ours = answers[i, "objfreelist"]
        wrong = [key for key in cache.kernel if cache.kernel[key] != ours[key]]
        if wrong:
            found.append((cache.name, wrong, cache.kernel, ours))
    return found


def populations(ctx):
    loaded, known = {}, {}
    for name, file in POPULATIONS.items():
        loaded[name] = read_kernel(ctx.data / file)
        for cache in loaded[name]:
            known.setdefault(cache.name, cache.letters)
    loaded["6.18-vm"] = read_slabinfo(ctx.data / "slabinfo-6.18-slub-vm.txt", known)
    if ctx.slabinfo:
        loaded = {"yours": read_slabinfo(ctx.slabinfo, known)}
    return loaded, known


def tables(loaded):
    rows, csv_rows, caches_csv = [], [], []
    for name, caches in loaded.items():
        if caches[0].kernel:
            kernel = [sum(c.kernel["type"] == t for c in caches) for t in TYPES]
            rows.append([name, "Linux's own choice", *kernel, "", ""])
            csv_rows.append([name, "kernel", *kernel, ""])
        for variant, title in VARIANTS.items():
            kinds, waste, wasteful = count(caches, variant)
            rows.append([name, title, *kinds, wasteful, waste])
            csv_rows.append([name, variant, *kinds, waste])
            for cache in caches:
                row = cache.ours[variant]
                caches_csv.append([name, cache.name, variant, cache.size, row["slot"], row["objects"], row["pages"],
                                   row["type"], row["waste"], cache.active, wasted(cache, row),
                                   cache.kernel["type"] if cache.kernel else ""])
    return rows, csv_rows, caches_csv


def agreement(ctx, loaded):
    """Text and table about the kernel's own choices."""
    total = same = without = 0
    rows = []
    for name, caches in loaded.items():
        if not caches[0].kernel:
            continue
        ctx.say("agreement with the kernel: " + name)
        found = differences(caches, {(i, "objfreelist"): c.ours["objfreelist"] for i, c in enumerate(caches)})
        lax = differences(caches, ask(ctx, caches, without="s"))
        total, same, without = total + len(caches), same + len(caches) - len(found), without + len(lax)
        kinds = sum("type" in wrong for _, wrong, _, _ in lax)
        rows.append([name, len(caches), len(caches) - len(found), len(lax), kinds])
        for cache, wrong, kernel, ours in found:
            rows.append(["%s: %s" % (name, cache), "differs in " + ", ".join(wrong),
                         "Linux %s" % kernel, "here %s" % {key: ours[key] for key in kernel}, ""])
    return total, same, without, rows


def share(part, whole):
    return "%d %%" % round(100 * part / whole)


def claims_of(loaded, total, same):
    claims = []
    if total:
        claims.append(Claim(
            "the rules are the kernel's", same == total,
            "under the kernel's rules %d of %d caches get the type, slot, number of objects, order and colours that Linux gave "
            "them" % (same, total), brief="%s of the %d caches whose choice by Linux is known get the same one here" % (
                "all" if same == total else same, total)))
    loaded = {name: caches for name, caches in loaded.items() if name != "uml-merged"}  # its caches are in "uml"
    whole = sum(len(caches) for caches in loaded.values())
    free = {v: {name: len(caches) - count(caches, v)[2] for name, caches in loaded.items()} for v in VARIANTS}
    sums = {v: sum(free[v].values()) for v in VARIANTS}
    holds = sums["objfreelist"] > sums["before"]
    claims.append(Claim(
        "with OBJFREELIST most caches waste nothing (60 of 126 before, 109 after)", holds,
        "caches that waste nothing, without and with it: " + "; ".join(
            "%s %d → %d of %d" % (name, free["before"][name], free["objfreelist"][name], len(caches))
            for name, caches in loaded.items()),
        "" if holds else "none of these caches may have it",
        brief="OBJFREELIST raises the caches that waste nothing from %s to %s (published: 48 %% to 87 %%)" % (
            share(sums["before"], whole), share(sums["objfreelist"], whole))))
    claims.append(Claim(
        "no cache need waste anything (beyond the documents)", sums["default"] == whole,
        "with drystone's default %d of %d caches waste nothing" % (sums["default"], whole),
        brief="drystone's default leaves %s that wastes" % ("none" if sums["default"] == whole else whole - sums["default"])))
    return claims


def run(ctx):
    loaded, known = populations(ctx)
    for name, caches in loaded.items():
        ctx.say("census of %s, %d caches" % (name, len(caches)))
        answers = ask(ctx, caches)
        for i, cache in enumerate(caches):
            cache.ours = {variant: answers[i, variant] for variant in VARIANTS}
    rows, csv_rows, caches_csv = tables(loaded)
    total, same, without, kernel_rows = agreement(ctx, loaded)
    claims = claims_of(loaded, total, same)
    guessed = [(name, sum(c.name in known for c in caches), len(caches))
               for name, caches in loaded.items() if not caches[0].kernel]
    result = Result(
        "census", "Census of management types",
        "How many caches of a real system can keep their list of free objects where it costs nothing?",
        "Every cache of a population (object size, alignment, constructor, type-safe or reclaimable) is made in drystone, "
        "by its own layout code, under the published rules without and with OBJFREELIST and by default. The types are counted, "
        "and what management wastes is summed over the slabs that the cache's objects after boot need. Where the kernel's "
        "own choice is in the data, it is compared cache by cache.",
        verdict_of(claims), "drystone experiment census" + (" --slabinfo FILE" if ctx.slabinfo else ""), claims=claims)
    result.published = [Table(
        published.OBJFREELIST + ": number of caches, of 126", ["", *TITLES[:4], "waste nothing"],
        [["before", *published.CENSUS["before"], 60], ["after", *published.CENSUS["objfreelist"], 109]])]
    note = "".join("%s: a listing has sizes only; constructor and type-safety of %d of its %d caches were taken from the caches "
                   "of the same name in the other populations, the others count as plain. " % g for g in guessed)
    result.ours = [Table("Number of caches by type; bytes wasted at the population after boot",
                         ["population", "rules", *TITLES, "caches that waste", "bytes wasted"], rows,
                         note + "Other: drystone's own types, a bitmap in the page descriptor or a chain. "
                                "census_caches.csv has every cache.")]
    if kernel_rows:
        result.ours.append(Table(
            "Linux's own choice, cache by cache", ["population", "caches", "all agree",
                                                   "differ without the rule for reclaimable", "of these in type"],
            kernel_rows,
            "Compared: type, slot, objects per slab, order, colours. Linux gives a cache of reclaimable objects "
            "(SLAB_RECLAIM_ACCOUNT) the smallest slab that holds one object, whatever it wastes; DRY_CACHE_SMALL_SLABS is that "
            "rule. Without it %d caches get a bigger slab here." % without))
    if plot.available():
        names, parts = [], {title: [] for title in TITLES}
        for line in rows:
            if line[1] != "Linux's own choice":
                names.append("%s, %s" % (line[0], line[1].split(" OBJ")[0].replace("drystone's ", "")))
                for title, value in zip(TITLES, line[2:7]):
                    parts[title].append(100 * value / sum(line[2:7]))
        result.plots.append(Plot("Share of the caches that get each type",
                                 plot.stacked("census", "Share of management types", names, parts, "% of caches")))
    result.csv_header = ["population", "variant", "objfreelist", "leftover", "dedicated", "off_slab", "other", "waste_bytes"]
    result.csv_rows = csv_rows
    result.more_csv["census_caches"] = (
        ["population", "cache", "variant", "object_size", "slot", "objects", "pages", "type", "waste_per_slab",
         "active_objects", "waste_bytes", "kernel_type"], caches_csv)
    return result
