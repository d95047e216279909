# SPDX-License-Identifier: MIT OR GPL-2.0-only
# allocate.py ROUNDS: objects of many sizes and lives: dicts, lists, strings, trees. Prints a checksum of what it made.
import hashlib
import random
import sys

random.seed(7)
digest = hashlib.sha256()


def words(count):
    return ["".join(chr(97 + random.randrange(26)) for _ in range(random.randrange(3, 40))) for _ in range(count)]


class Tree:
    __slots__ = ("key", "left", "right")

    def __init__(self, key):
        self.key, self.left, self.right = key, None, None

    def insert(self, key):
        node = self
        while True:
            side = "left" if key < node.key else "right"
            below = getattr(node, side)
            if below is None:
                setattr(node, side, Tree(key))
                return
            node = below

    def depth(self):
        return 1 + max(t.depth() if t else 0 for t in (self.left, self.right))


for round_number in range(int(sys.argv[1])):
    text = words(40000)
    index = {}
    for place, word in enumerate(text):
        index.setdefault(word[:3], []).append((place, word.upper()))
    tree = Tree(2 ** 29)
    for _ in range(40000):
        tree.insert(random.randrange(2 ** 30))
    rows = [{"id": n, "name": text[n], "tags": tuple(text[n : n + 3]), "size": float(n)} for n in range(0, 39000)]
    rows.sort(key=lambda row: row["name"])
    joined = "\n".join(row["name"] + repr(row["tags"]) for row in rows).encode()
    digest.update(joined)
    digest.update(repr((len(index), tree.depth(), sorted(index)[:50])).encode())
print(digest.hexdigest())
