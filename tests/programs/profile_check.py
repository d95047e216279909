# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""profile_check.py PROFILE TRUTH: a gzipped profile.proto, read by its field numbers alone, against what the program counted
itself: lines FUNCTION IN-ALL HELD. All within 5 %; nothing else in the profile has more than 1 %."""
import gzip
import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    at, found = 0, {}
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "a field is cut short"
        else:
            raise AssertionError("wire type %d" % (key & 7))
        found.setdefault(key >> 3, []).append(value)
    return found


def numbers(data):
    at, found = 0, []
    while at < len(data):
        value, at = varint(data, at)
        found.append(value)
    return found


def one(message, field):
    return message.get(field, [0])[0]


profile = fields(gzip.open(sys.argv[1]).read())
strings = [s.decode() for s in profile[6]]
assert strings[0] == "", "the first string is not empty"
types = [tuple(strings[one(fields(t), f)] for f in (1, 2)) for t in profile[1]]
assert types == [("inuse_objects", "count"), ("inuse_space", "bytes"), ("alloc_objects", "count"), ("alloc_space", "bytes")], types
assert strings[one(profile, 14)] == "alloc_space", strings[one(profile, 14)]  # the program has ended: little is in use
functions = {one(f, 1): strings[one(f, 2)] for f in map(fields, profile[5])}
mappings = {one(m, 1) for m in map(fields, profile[3])}
locations = {}
for location in map(fields, profile[4]):
    assert one(location, 2) == 0 or one(location, 2) in mappings
    locations[one(location, 1)] = [functions[one(fields(line), 1)] for line in location[4]]
held, in_all, caches, total = {}, {}, {}, 0
for sample in map(fields, profile[2]):
    names = [n for location in numbers(sample[1][0]) for n in locations[location]]
    values = numbers(sample[2][0])
    total += values[3]
    label = next(strings[one(fields(l), 2)] for l in sample[3] if strings[one(fields(l), 1)] == "cache")
    if names:
        held[names[0]] = held.get(names[0], 0) + values[1]
        in_all[names[0]] = in_all.get(names[0], 0) + values[3]
        caches.setdefault(names[0], set()).add(label)
expected = {}
for line in open(sys.argv[2], encoding="utf-8"):
    name, everything, live = line.split()
    expected[name] = int(everything)
    for what, is_now, shall in (("in all", in_all.get(name, 0), int(everything)), ("in use", held.get(name, 0), int(live))):
        # Of each there are 10^4 samples or more, or a block is sampled for sure: 5 % are five deviations. A big block that grows
        # has up to an eighth more, and that is what is served.
        more = 0.125 if name == "big" and what == "in use" else 0
        assert -0.05 * shall <= is_now - shall <= (0.05 + more) * shall, "%s %s: %d, shall be %d" % (name, what, is_now, shall)
assert sum(n for name, n in in_all.items() if name not in expected) < 0.01 * total, in_all
assert caches["typed"] == caches["zeroed"] == {"session"}, caches
assert caches["small"] == {"kmalloc-64"} and caches["page"] == {"kmalloc-4096"} and "big" in caches["big"], caches
