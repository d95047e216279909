# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Where the memory of this interpreter is, when it runs on drystone: `drystone run -- python program.py`.

    active()    whether it does
    stats()     figures of its heap, in bytes unless named otherwise
    caches()    a dictionary for each cache
    slabinfo()  the same as text, in the format of /proc/slabinfo
    trim()      give back to the system what is free
"""
import ctypes

__all__ = ["active", "caches", "slabinfo", "stats", "trim", "version"]

# struct dry_heap_stats, in its order; tests/test_package.py compares.
HEAP_FIELDS = (("reserved", ctypes.c_size_t), ("in_use", ctypes.c_size_t), ("extents", ctypes.c_size_t),
               ("guarded", ctypes.c_size_t), ("dirty", ctypes.c_size_t), ("idle", ctypes.c_size_t),
               ("metadata", ctypes.c_size_t), ("caches", ctypes.c_size_t), ("slots", ctypes.c_size_t),
               ("allocs", ctypes.c_uint64), ("slow_allocs", ctypes.c_uint64), ("slow_frees", ctypes.c_uint64),
               ("failures", ctypes.c_uint64), ("reaps", ctypes.c_uint64), ("purged", ctypes.c_uint64))
CACHE_FIELDS = ("active_objects", "objects", "object_size", "objects_per_slab", "pages_per_slab")


class _HeapStats(ctypes.Structure):
    # A newer library may have more to say.
    _fields_ = HEAP_FIELDS + (("_more", ctypes.c_uint64 * 64),)


_WRITE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


def _find():
    process = ctypes.CDLL(None)
    try:
        process.dry_version.restype = ctypes.c_char_p
        process.dry_heap_trim.restype = ctypes.c_size_t
        process.dry_heap_trim.argtypes = (ctypes.c_void_p,)
        process.dry_heap_stats.argtypes = (ctypes.c_void_p, ctypes.POINTER(_HeapStats))
        process.dry_heap_slabinfo.argtypes = (ctypes.c_void_p, _WRITE, ctypes.c_void_p)
    except AttributeError:
        return None
    return process


_library = _find()


def active():
    """Whether this process runs on drystone."""
    return _library is not None


def _need():
    if _library is None:
        raise RuntimeError("this process does not run on drystone; start it with: drystone run -- python ...")
    return _library


def version():
    """Of the library that this process runs on."""
    return _need().dry_version().decode()


def stats():
    """Figures of the heap that malloc uses."""
    figures = _HeapStats()
    if _need().dry_heap_stats(None, ctypes.byref(figures)) != 0:
        raise RuntimeError("the library gives no figures")
    return {name: getattr(figures, name) for name, _ in HEAP_FIELDS}


def slabinfo():
    """The listing of its caches."""
    pieces = []

    @_WRITE
    def write(_, text, size):
        pieces.append(ctypes.string_at(text, size))

    _need().dry_heap_slabinfo(None, write, None)
    return b"".join(pieces).decode(errors="replace")


def caches():
    """name and CACHE_FIELDS of each cache, those with most bytes first."""
    result = []
    for line in slabinfo().split("\n")[2:]:  # two lines of heading; a name may begin as they do
        words = line.split()
        if len(words) > len(CACHE_FIELDS):
            cache = dict(zip(CACHE_FIELDS, map(int, words[1:])), name=words[0])
            result.append(cache)
    return sorted(result, key=lambda cache: -cache["objects"] * cache["object_size"])


def trim():
    """Give back what is free, at once; the number of bytes."""
    return _need().dry_heap_trim(None)
