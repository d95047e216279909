# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""test_package.py [--in-tree]: run by a Python on drystone, and once by one that is not (argument --without)."""
import ctypes
import os
import re
import sys

import drystone

HEADER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../include/drystone/drystone.h")


def test_without():
    assert not drystone.active()
    try:
        drystone.stats()
    except RuntimeError as error:
        assert "drystone run" in str(error)
        return
    raise AssertionError("stats() of another malloc")


def test_fields():
    with open(HEADER, encoding="utf-8") as file:
        body = re.search(r"struct dry_heap_stats \{(.*?)\n\};", file.read(), re.S).group(1)
    fields = re.findall(r"^\s*(size_t|uint64_t) (\w+);", body, re.M)
    ours = [(type_.__name__, name) for name, type_ in drystone.HEAP_FIELDS]
    width = {"size_t": "c_ulong", "uint64_t": "c_ulong"}
    assert ours == [(width[type_], name) for type_, name in fields], ours


def small_objects():
    return sum(c["active_objects"] for c in drystone.caches() if c["object_size"] <= 512)


def live(stats):
    return stats["in_use"] - stats["idle"] + stats["extents"]


class Attr(ctypes.Structure):
    """The beginning of struct dry_cache_attr; the rest is 0."""
    _fields_ = [("name", ctypes.c_char_p), ("size", ctypes.c_size_t), ("align", ctypes.c_size_t), ("flags", ctypes.c_uint),
                ("rest", ctypes.c_size_t * 16)]


NO_MERGE = 2


def test_names():
    library = ctypes.CDLL(None)
    library.dry_cache_create.restype = ctypes.c_void_p
    library.dry_cache_create.argtypes = (ctypes.c_void_p, ctypes.POINTER(Attr))
    library.dry_cache_destroy.argtypes = (ctypes.c_void_p,)
    made = [library.dry_cache_create(None, ctypes.byref(Attr(name, 104, 0, NO_MERGE))) for name in (b"slabinfo", b"a b", b"#4")]
    names = {cache["name"] for cache in drystone.caches()}
    assert all(made) and {"slabinfo", "a_b", "?4"} <= names and "#" not in names, names
    for cache in made:
        assert library.dry_cache_destroy(cache) == 0


def test_with():
    assert drystone.active() and re.match(r"\d+\.\d+\.\d+$", drystone.version())
    before, objects = drystone.stats(), small_objects()
    held = [bytearray(60000) for _ in range(64)] + [[i] for i in range(20000)]
    after = drystone.stats()
    assert live(after) >= live(before) + 64 * 60000
    if os.environ.get("PYTHONMALLOC") == "malloc":
        assert small_objects() - objects >= 20000, "Python's small objects are elsewhere"
    assert drystone.slabinfo().startswith("slabinfo - version: 2.1") and len(drystone.caches()) > 5
    assert len(held) == 20064
    del held
    drystone.trim()
    assert drystone.stats()["in_use"] < after["in_use"]


if sys.argv[1:] == ["--without"]:
    test_without()
else:
    test_fields()
    test_names()
    test_with()
print("ok")
