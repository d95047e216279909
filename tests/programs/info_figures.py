# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""info_figures.py holder|same|growth FILE...: what must hold of the JSON that `drystone info` gave of holder.cpp."""
import json
import sys

MB, KB = 1 << 20, 1 << 10


def check(holds, *why):
    if not holds:
        sys.exit("info_figures: " + " ".join(str(w) for w in why))


def equal(a, b, what):
    check(a == b, what, a, b)


def big(info, kind, size):
    return [b for b in info["big_blocks"] if b["kind"] == kind and size <= b["objsize"] < size * 5 // 4]


def holder(info):
    """The figures are those of the program, and add up."""
    s, caches = info["summary"], [c for c in info["caches"] if "alias_of" not in c]
    for kind, size, count in (("extents", 5 * MB, 10), ("runs", 128 * KB, 500)):
        rows = big(info, kind, size)
        equal(sum(b["active_objs"] for b in rows), count, f"blocks of {size} bytes")
        check(count * size <= sum(b["live_bytes"] for b in rows) < count * size * 1.1, kind, rows)
        check(sum(b["resident_bytes"] for b in rows) >= count * size, "not resident", kind, rows)
    check(sum(c["active_objs"] for c in caches if 200 < c["objsize"] <= 256) >= 40000, "strings are missing")
    check(40000 <= s["objects"] <= 100000, "objects", s["objects"])
    rows = caches + info["big_blocks"]
    check(0.98 <= sum(row["share"] for row in rows) <= 1.02, "shares")
    equal([row["bytes"] for row in caches], sorted((row["bytes"] for row in caches), reverse=True), "not sorted")
    equal(sum(c["bytes"] for c in caches), s["live_objects_bytes"] + s["waste_bytes"], "caches")
    equal(s["live_runs_bytes"], sum(b["bytes"] for b in info["big_blocks"] if b["kind"] == "runs"), "page runs")
    equal(s["live_extents_bytes"], sum(b["bytes"] for b in info["big_blocks"] if b["kind"] == "extents"), "extents")
    parts = [s[key] for key in s if key.startswith("waste_") and key != "waste_bytes"]
    check(abs(sum(parts) - s["waste_bytes"]) < 64, "waste", parts)
    equal(s["heap_resident_bytes"] + s["others_bytes"], s["anonymous_bytes"], "anonymous memory")
    explained = sum(row.get("resident_bytes", row["bytes"]) for row in rows) + s["retained_bytes"] + s["metadata_bytes"]
    check(abs(explained - s["heap_resident_bytes"]) < 0.02 * s["anonymous_bytes"], "of what is resident, explained:", explained, s)
    check(s["anonymous_bytes"] * 0.9 < s["heap_resident_bytes"], "most of it is drystone's", s)
    equal(s["guarded_bytes"], sum(b["bytes"] for b in info["big_blocks"] if b["kind"] == "guarded"), "guarded blocks")
    check(all(row.get("resident_bytes", 0) <= row["bytes"] for row in rows), "more resident than there is")
    check(all(c["num_slabs"] <= c["slabs_made"] and c["bytes"] <= c["peak_bytes"] for c in caches), "slabs made, peaks")
    check(all(c["lock_waits"] <= c["lock_rounds"] for c in caches), "waits for locks")
    for key in ("slow_allocs", "slow_frees", "lock_rounds", "lock_waits", "batches", "slabs_made", "remote_frees"):
        equal(s[key], sum(c[key] for c in caches), key)
    check(s["slabs_made"] > 0 and s["failures"] == 0 and s["resident_peak_bytes"] >= s["resident_bytes"], "totals", s)
    check(info["whole"] and not info["core"] and info["program"] == "holder", "head")


def same(live, core):
    """A core file gives what the stopped process gave; of what was resident it knows nothing."""
    check(core["core"] and core["whole"], "head")
    equal((live["pid"], live["program"]), (core["pid"], core["program"]), "head")
    for key in ("caches", "big_blocks"):
        for row in live[key]:
            row.pop("resident_bytes", None)
        equal(live[key], core[key], key)
    for key in ("resident_bytes", "resident_peak_bytes", "anonymous_bytes", "swapped_bytes", "heap_resident_bytes", "untouched_bytes", "others_bytes"):
        check(key in live["summary"] and key not in core["summary"], key)
        del live["summary"][key]
    equal(live["summary"], core["summary"], "summary")


def growth(*infos):
    """200 blocks of 128 KB came between two of them."""
    rows = [big(info, "runs", 128 * KB)[0] for info in infos]
    check("growth" not in rows[0] and all("growth" in row for row in rows[1:]), "growth")
    check(any(row["growth"] > 200 * 128 * KB / 60 for row in rows[1:]), "no growth", rows)
    equal(rows[-1]["active_objs"], 700, "blocks at the end")


def main():
    infos, decoder = [], json.JSONDecoder()
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as file:
            text = file.read().lstrip()
        while text:
            info, end = decoder.raw_decode(text)
            infos.append(info)
            text = text[end:].lstrip()
    {"holder": holder, "same": same, "growth": growth}[sys.argv[1]](*infos)


main()
