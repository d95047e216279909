# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""make_core.py PID FILE: a core file of a process that is stopped, as the kernel writes one with the default filter.

Segments are the private mappings that were written to, whole; only pages that are in memory take space in the file.
"""
import os
import re
import struct
import sys

PAGE = os.sysconf("SC_PAGESIZE")
MAPPING = re.compile(r"(\w+)-(\w+) (....) (\w+) \w+:\w+ (\d+) *(.*)")


def read_entries(pagemap, start, end):
    pagemap.seek(start // PAGE * 8)
    return pagemap.read((end - start) // PAGE * 8)


def written(pagemap, start, end):
    """Whether a page is there, or in swap, that is no file's (proc(5): bits 63, 62, 61)."""
    return any(byte & 0xC0 and not byte & 0x20 for byte in read_entries(pagemap, start, end)[7::8])


def note(kind, data):
    pad = b"\0" * (-len(data) % 4)
    return struct.pack("<III8s", 5, len(data), kind, b"CORE") + data + pad


def main():
    pid, path = int(sys.argv[1]), sys.argv[2]
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        maps = [MAPPING.match(line).groups() for line in file]
    with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
        name = file.read().strip().encode()
    files = [(int(a, 16), int(b, 16), int(o, 16) // PAGE, p) for a, b, _, o, inode, p in maps if inode != "0"]
    data = struct.pack("<QQ", len(files), PAGE) + b"".join(struct.pack("<QQQ", *f[:3]) for f in files)
    data += b"".join(f[3].encode() + b"\0" for f in files)
    # NT_PRPSINFO: state, its letter, zombie, nice, flags, ids, process ids, name, arguments
    notes = note(3, struct.pack("<4BxxxxQIIiiii16s80s", 0, ord("S"), 0, 0, 0, 0, 0, pid, 0, 0, 0, name, name))
    notes += note(0x46494C45, data)
    with open(f"/proc/{pid}/pagemap", "rb", 0) as pagemap:
        segments = [(int(a, 16), int(b, 16)) for a, b, mode, _, inode, p in maps
                    if mode[0] == "r" and mode[3] == "p" and not p.startswith("[v") and
                    (mode[1] == "w" or written(pagemap, int(a, 16), int(b, 16)))]
    at = -(-(64 + 56 * (len(segments) + 1) + len(notes)) // PAGE) * PAGE
    headers = struct.pack("<IIQQQQQQ", 4, 0, 64 + 56 * (len(segments) + 1), 0, 0, len(notes), 0, 4)
    with open(path, "wb") as out, open(f"/proc/{pid}/mem", "rb", 0) as mem, open(f"/proc/{pid}/pagemap", "rb", 0) as pagemap:
        for start, end in segments:
            headers += struct.pack("<IIQQQQQQ", 1, 6, at, start, 0, end - start, end - start, PAGE)
            for index, entry in enumerate(read_entries(pagemap, start, end)[7::8]):
                if entry & 0xC0:
                    mem.seek(start + index * PAGE)
                    out.seek(at + index * PAGE)
                    out.write(mem.read(PAGE))
            at += end - start
        out.truncate(at)
        out.seek(0)
        out.write(struct.pack("<4s12sHHIQQQIHHHHHH", b"\x7fELF", b"\x02\x01\x01", 4, 62, 1, 0, 64, 0, 0, 64, 56,
                              len(segments) + 1, 64, 0, 0) + headers + notes)


main()
