# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""map_data.py PAGE [INFO...]: decode the data in a page of `drystone map`; each snapshot is what `drystone info --json` printed at that time.

Sums are compared: bytes by cache and by kind of big block, objects, slabs. Nothing is listed twice or overlaps. Without INFO, that it can
be decoded is all. Prints the numbers of pieces."""
import base64
import json
import re
import sys

KINDS = ("gone", "free", "run", "extent", "kept", "meta", "guarded")


def numbers(data):
    value = shift = 0
    for byte in base64.b64decode(data, validate=True):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0
    assert shift == 0


def pieces(region):
    """(kind, start in bytes, pages, used)"""
    stream, found, place, kind, pages, used = numbers(region["data"]), [], 0, 0, 0, 0
    for code in stream:
        times = 1
        if code == 0:
            times = next(stream)
        elif code == 1:
            place = next(stream)
            continue
        else:
            if code > 2:
                kind, pages = code - 3, next(stream)
            used = next(stream)
        for _ in range(times):
            found.append((kind, place * region["page"], pages, used))
            place += pages
    assert len(found) == region["count"], (len(found), region["count"])
    return found


def read(path):
    text = open(path, encoding="utf-8").read()
    assert not re.search(r"src=|href=|https?://|@import|url\(", text), "it is not whole in itself"
    assert text.count("</script>") == 1, "a name ends the script"
    head = re.search(r'^const program = ("[^\n]*"), pid = (\d+), date = "[^"]*";\nconst snapshots = (\[.*?^\]);\nconst caches = (\[.*?^\]);$', text, re.S | re.M)
    data = [json.loads(re.sub(r",(\s*[\]}])", r"\1", re.sub(r'([{,]\s*)(\w+): ', r'\1"\2": ', head.group(i)))) for i in (3, 4)]
    return json.loads(head.group(1)), int(head.group(2)), *data


def judge(snapshot, caches, info):
    wanted = {("" if c["default_heap"] else c["heap"] + "/") + c["name"]: c for c in info["caches"] if not c.get("alias_of") and c["num_slabs"]}
    slabs, spans, big, metadata = {}, [], {"run": 0, "extent": 0, "kept": 0}, 0
    for region in snapshot["regions"]:
        for kind, start, pages, used in pieces(region):
            if kind >= len(KINDS):
                name = caches[kind - len(KINDS)]["name"]
                count, size, out = slabs.get(name, (0, 0, 0))
                slabs[name] = count + 1, size + pages * region["page"], out + used
            elif KINDS[kind] in big:
                big[KINDS[kind]] += pages * region["page"]
            metadata += (kind == KINDS.index("meta")) * pages * region["page"]
            if start:
                spans.append((start, start + pages * region["page"]))
    spans.sort()
    for one, two in zip(spans, spans[1:]):
        assert one[1] <= two[0], "pieces overlap: %#x" % two[0]
    for name, cache in wanted.items():
        assert slabs[name][:2] == (cache["num_slabs"], cache["bytes"]), (name, slabs[name], cache)
        assert slabs[name][2] == cache["num_objs"] - cache["free_objs"], (name, slabs[name], cache)
    assert set(slabs) == set(wanted), set(slabs) ^ set(wanted)
    summary = info["summary"]
    assert big["run"] == summary["live_runs_bytes"] and big["extent"] == summary["live_extents_bytes"], (big, summary)
    assert abs(metadata - summary["metadata_bytes"]) < 65536, (metadata, summary)
    return len(spans)


def main():
    program, pid, snapshots, caches = read(sys.argv[1])
    infos = [json.load(open(path, encoding="utf-8")) for path in sys.argv[2:]]
    assert len(snapshots) == len(infos) or not infos and program, (program, pid, len(snapshots))
    print(program, *(judge(s, caches, info) for s, info in zip(snapshots, infos)))
    print([[len(pieces(region)) for region in s["regions"]] for s in snapshots])


main()
