# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""work.py N: what python programs do to malloc: records, text, parsing, a graph. Prints a hash and what is resident at the end."""
import ast
import hashlib
import json
import random
import sys

random.seed(11)
digest = hashlib.sha256()


class Record:
    def __init__(self, number):
        self.number = number
        self.name = "record-%x" % (number * 2654435761 % 2 ** 32)
        self.values = [number * k % 97 / 8 for k in range(number % 9)]
        self.parent = None


def records(count):
    made = [Record(number) for number in range(count)]
    for record in made:
        record.parent = made[random.randrange(count)]
    by_name = {}
    for record in made:
        by_name.setdefault(record.name[7:9], []).append(record)
    text = json.dumps([{"n": r.number, "name": r.name, "values": r.values, "of": r.parent.name} for r in made])
    return len(by_name), sum(len(entry["values"]) for entry in json.loads(text))


def parse(count):
    source = "\n".join("def f%d(a, b=%d):\n    return [a * x + b for x in range(%d) if x %% 3] + [b]" % (i, i, i % 50) for i in range(count))
    tree = ast.parse(source)
    names = {}
    exec(compile(tree, "<made>", "exec"), names)
    return sum(1 for _ in ast.walk(tree)), names["f%d" % (count - 1)](2)[:3]


def text(count):
    words = ["".join(chr(97 + random.randrange(26)) for _ in range(random.randrange(2, 14))) for _ in range(count)]
    lines = [" ".join(words[i:i + 9]) for i in range(0, count, 9)]
    counted = {}
    for line in lines:
        for word in line.upper().split():
            counted[word] = counted.get(word, 0) + 1
    return sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))[:20]


size = int(sys.argv[1])
for turn in range(3):
    digest.update(repr((records(size), parse(size // 30 + 1), text(size))).encode())
print(digest.hexdigest())
with open("/proc/self/statm", encoding="ascii") as file:
    print("resident", int(file.read().split()[1]) * 4)
