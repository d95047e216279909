# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Commands of gdb for programs that run on drystone: live, or a core file; the library needs no debug information.

    (gdb) source drystone-gdb.py
    (gdb) drystone caches [PATTERN]
    (gdb) drystone whatis ADDRESS
    (gdb) print cache

Pointers to caches, heaps and slabs are printed as what they point to (`disable pretty-printer global drystone` ends that).
All of it reads what <drystone/inspect.h> describes, and run nothing in the program.
"""
import fnmatch
import re
import struct

import gdb
import gdb.printing

VERSION = 15
MAGIC = b"DRYSTONE-LAYOUT\0"
# The members of struct dry_inspect, in their order: N 32-bit numbers, F fields (offset, size), B bytes, P pointers.
MEMBERS = (
    ("N", "version size pointer_size node_size avail_bits array_unit depot_size locals"),
    ("F", "heap_next heap_name heap_caches heap_slot_table heap_slots heap_nodes cache_next cache_name cache_root cache_object_size "
          "cache_size cache_num cache_order cache_limit cache_batchcount cache_flags cache_array cache_nodes "
          "array_word array_limit node_slabs node_free_objects node_free_slabs node_shared_avail node_alien depot_avail "
          "node_slow_allocs node_slow_frees node_bulk_allocs node_pops_apart heap_area_size heap_arenas heap_meta_arena heap_meta_pages "
          "cache_kept node_lock_rounds node_shared_entry depot_entry arena_base arena_page_shift arena_pages arena_committed "
          "arena_free_dirty arena_free_clean arena_limbo arena_desc arena_desc_bytes arena_map arena_map_bytes arena_chunks "
          "arena_chunks_bytes arena_side arena_side_bytes page_kind page_count page_cache page_node page_first page_bits page_active cache_mgmt extents_table "
          "extents_slots extents_kept extents_kept_count extent_address extent_bytes kept_address kept_bytes node_lock_waits "
          "node_slabs_made node_peak_slabs node_remote_frees node_failures node_shared_moves depot_moves depot_allocs depot_frees "
          "heap_failures heap_reaps heap_gone arena_purged extents_purged guards_base guards_table guards_fresh guards_table_bytes guards_owner guards_bytes guard_state guard_page guard_pages "
          "cache_debug pool_candidates pool_room pool_waits pool_oldest pool_ring pool_entry"),
    ("N", "arena_size page_size extent_size kept_size"),
    ("B", "page_free page_run page_slab extent_bits mgmt_bitmap guard_live reserved_a reserved_b"),
    ("N", "shared_factor guard_size"),
    ("P", "stopped_area heaps default_heap profile guards pooled heaps_gone"),
)
FORMAT = {"N": "I", "F": "II", "B": "B", "P": "Q"}
MAX_LIST = 100000  # entries of any list: it may be damaged


def memory(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def pointer(address):
    return struct.unpack("<Q", memory(address, 8))[0]


def text(data):
    """A name, made safe to print in a column, as the command does."""
    return "".join("_" if c == 32 else chr(c) if 32 < c < 127 else "?" for c in data.split(b"\0")[0]) or "?"


def number(expression):
    try:
        return int(gdb.parse_and_eval(expression))
    except (gdb.error, OverflowError) as wrong:
        raise gdb.GdbError(str(wrong)) from None


def searched():
    """Where the magic is in the parts of a core file: one without registers does not lead gdb to the libraries."""
    for part in re.findall(r"^\s*(0x[0-9a-f]+) - (0x[0-9a-f]+) is ", gdb.execute("info files", False, True), re.M):
        at, end = int(part[0], 16), int(part[1], 16)
        while at < end:
            try:
                at = gdb.selected_inferior().search_memory(at, end - at, MAGIC)
            except gdb.error:
                break
            if at is None:
                break
            yield at
            at += len(MAGIC)


def find():
    """Address of dry_inspect; None: there is none."""
    try:
        start = int(gdb.parse_and_eval("(char *)&dry_inspect"))
        if memory(start, len(MAGIC)) == MAGIC:
            return start
    except gdb.error:
        pass
    for at in searched():
        version, size, width = struct.unpack("<III", memory(at + len(MAGIC), 12))
        if at % 8 == 0 and 0 < version < 1000 and size < 1 << 20 and width == 8:
            return at
    return None


class Layout:
    """struct dry_inspect of the program, and how to read by it."""

    def __init__(self):
        start = find()
        if start is None:
            raise gdb.GdbError("this program does not run on drystone")
        self.version = struct.unpack("<I", memory(start + 16, 4))[0]
        if self.version != VERSION:
            raise gdb.GdbError("another drystone (layout version %d); these commands read version %d" % (self.version, VERSION))
        at = start + 16
        for kind, names in MEMBERS:
            size = struct.calcsize("<" + FORMAT[kind])
            for name in names.split():
                at = (at + 7) // 8 * 8 if kind == "P" else at
                value = struct.unpack("<" + FORMAT[kind], memory(at, size))
                setattr(self, name, value if kind == "F" else value[0])
                at += size

    def get(self, base, name):
        """An integer or pointer of the struct at base."""
        offset, size = getattr(self, name)
        return int.from_bytes(memory(base + offset, size), "little") if size in (1, 2, 4, 8) else 0

    def name(self, base, name):
        offset, size = getattr(self, name)
        return text(memory(base + offset, size))


def chain(layout, first, following):
    for _ in range(MAX_LIST):
        if first == 0:
            return
        yield first
        first = layout.get(first, following)


def heaps(layout):
    return chain(layout, pointer(layout.heaps), "heap_next")


def caches(layout, heap):
    for cache in chain(layout, layout.get(heap, "heap_caches"), "cache_next"):
        if layout.get(cache, "cache_root") == cache:
            yield cache


def nodes(layout, heap, cache):
    for n in range(layout.get(heap, "heap_nodes")):
        yield cache + layout.cache_nodes[0] + n * layout.node_size


class Array:
    """The array of a cache in a slot."""

    def __init__(self, layout, address):
        self.word = layout.get(address, "array_word")
        self.avail = min(self.word & (1 << layout.avail_bits) - 1, layout.get(address, "array_limit"))
        self.entry = address + 16

    def objects(self):
        return [pointer(self.entry + 8 * k) for k in range(self.avail)]


def arrays(layout, heap, cache):
    """(slot, Array) of a cache."""
    place = layout.get(cache, "cache_array")
    table = layout.get(heap, "heap_slot_table")
    for slot in range(layout.get(heap, "heap_slots")):
        area = pointer(table + 8 * slot)
        if place != 0 and area != layout.stopped_area:
            yield slot, Array(layout, area + place * layout.array_unit)


def depots(layout, heap, node):
    """(kind, objects in it, address of the first pointer) of a node's shared, alien and local arrays."""
    yield "a shared", layout.get(node, "node_shared_avail"), layout.get(node, "node_shared_entry")
    more, aliens = layout.get(node, "node_alien"), layout.get(heap, "heap_nodes")
    for i in range(aliens + layout.locals if more else 0):
        at = more + i * layout.depot_size
        yield "an alien" if i < aliens else "a local", layout.get(at, "depot_avail"), layout.get(at, "depot_entry")


def pooled(layout, pool):
    """Objects of a pool: candidates, then those that wait in the ring behind them."""
    entry, room = pool + layout.pool_entry[0], layout.get(pool, "pool_room")
    ring, oldest = layout.get(pool, "pool_ring"), layout.get(pool, "pool_oldest")
    for i in range(min(layout.get(pool, "pool_candidates"), room, MAX_LIST)):
        yield pointer(entry + 8 * i)
    for i in range(min(layout.get(pool, "pool_waits"), ring, MAX_LIST)):
        yield pointer(entry + 8 * (room + (oldest + i) % ring))


def kept(layout, cache, avail, entry):
    """Objects of a depot."""
    if not entry:
        return ()
    if layout.pooled and layout.get(cache, "cache_debug") == layout.pooled:
        return pooled(layout, entry)
    return (pointer(entry + 8 * k) for k in range(min(avail, MAX_LIST)))


def figures(layout, heap, cache):
    """Slabs; objects in use, all of them, those in arrays."""
    slabs = sum(layout.get(node, "node_slabs") for node in nodes(layout, heap, cache))
    free = sum(layout.get(node, "node_free_objects") for node in nodes(layout, heap, cache))
    cached = sum(array.avail for _, array in arrays(layout, heap, cache))
    cached += sum(avail for node in nodes(layout, heap, cache) for _, avail, _ in depots(layout, heap, node))
    cached += layout.get(cache, "cache_kept")
    objects = slabs * layout.get(cache, "cache_num")
    return slabs, max(0, objects - free - cached), objects, cached


class Caches(gdb.Command):
    """drystone caches [PATTERN]: the caches of all heaps, those with most memory first."""

    def __init__(self):
        super().__init__("drystone caches", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        layout, rows = Layout(), []
        for heap in heaps(layout):
            page = 1 << layout.get(heap + layout.heap_arenas[0], "arena_page_shift")
            for cache in caches(layout, heap):
                name = layout.name(cache, "cache_name")
                if not fnmatch.fnmatchcase(name, argument.strip() or "*"):
                    continue
                slabs, used, objects, cached = figures(layout, heap, cache)
                rows.append((slabs * page << layout.get(cache, "cache_order"), name, layout.name(heap, "heap_name"),
                             used, objects, cached, layout.get(cache, "cache_size"), cache))
        gdb.write("%-24s %-10s %12s %9s %9s %9s %7s  %s\n" %
                  ("CACHE", "HEAP", "BYTES", "IN USE", "OBJECTS", "CACHED", "SIZE", "ADDRESS"))
        for row in sorted(rows, reverse=True):
            gdb.write("%-24s %-10s %12d %9d %9d %9d %7d  %#x\n" % (row[1], row[2], row[0], *row[3:]))


class WhatIs(gdb.Command):
    """drystone whatis ADDRESS: what there is at an address: its cache, the object, whether the program has it, its neighbours."""

    def __init__(self):
        super().__init__("drystone whatis", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        if not argument:
            raise gdb.GdbError("which address?")
        address, layout = number(argument) & (1 << 64) - 1, Layout()
        for heap in heaps(layout):
            if (self.in_arena(layout, heap, address) or self.in_extent(layout, heap, address) or
                    heap == layout.default_heap and self.in_guards(layout, heap, address)):
                return
        gdb.write("%#x is nobody's: no heap of drystone has it\n" % address)

    def in_arena(self, layout, heap, address):
        arena = heap + layout.heap_arenas[0]
        base, shift = layout.get(arena, "arena_base"), layout.get(arena, "arena_page_shift")
        index = address - base >> shift
        if base == 0 or address < base or index >= layout.get(arena, "arena_pages"):
            return False
        where = "%#x, heap %s: " % (address, layout.name(heap, "heap_name"))
        if index >= layout.get(arena, "arena_committed"):
            gdb.write(where + "in pages that were never used\n")
            return True
        desc, first = layout.get(arena, "arena_desc"), index
        known = (layout.page_free, layout.page_run, layout.page_slab)
        while first > 0 and layout.get(desc + first * layout.page_size, "page_kind") not in known:
            first -= 1
        page = desc + first * layout.page_size
        kind, start = layout.get(page, "page_kind"), base + (first << shift)
        if kind == layout.page_slab:
            self.in_slab(layout, heap, address, page, start, where)
        elif kind == layout.page_run:
            gdb.write(where + "%d bytes into a block of %d bytes, page run at %#x\n" %
                      (address - start, layout.get(page, "page_count") << shift, start))
        else:
            gdb.write(where + "in free pages\n")
        return True

    def in_slab(self, layout, heap, address, page, start, where):
        cache = layout.get(page, "page_cache")
        size, num = layout.get(cache, "cache_size"), layout.get(cache, "cache_num")
        name, first = layout.name(cache, "cache_name"), start + layout.get(page, "page_first")
        index = (address - first) // size if size else num
        where += "cache %s, slab at %#x, " % (name, start)
        if address < first or index >= num:
            gdb.write(where + "in no object\n")
            return
        begin = first + index * size
        gdb.write(where + "object %d of %d\n" % (index, num))
        gdb.write("  %d bytes into %d bytes at %#x: %s\n" % (address - begin, layout.get(cache, "cache_object_size"), begin,
                                                            self.state(layout, heap, cache, page, begin, index)))
        for text_, at in (("before", index - 1), ("after", index + 1)):
            if 0 <= at < num:
                gdb.write("  %s it, %#x: %s\n" % (text_, first + at * size,
                                                  self.state(layout, heap, cache, page, first + at * size, at)))

    def state(self, layout, heap, cache, page, begin, index):
        for slot, array in arrays(layout, heap, cache):
            if begin in array.objects():
                return "free, in the array cache of slot %d" % slot
        for node in nodes(layout, heap, cache):
            for kind, avail, entries in depots(layout, heap, node):
                if begin in kept(layout, cache, avail, entries):
                    return "free, in %s array" % kind
        if layout.get(cache, "cache_mgmt") != layout.mgmt_bitmap:
            return "handed out, or free in its slab"
        if pointer(page + layout.page_bits[0] + index // 64 * 8) >> index % 64 & 1:
            return "free in its slab"
        return "handed out" if layout.get(cache, "cache_kept") == 0 else "handed out, or in quarantine"

    def in_extent(self, layout, heap, address):
        table, slots = layout.get(heap, "extents_table"), layout.get(heap, "extents_slots")
        for slot in range(min(slots, MAX_LIST)):
            entry = table + slot * layout.extent_size
            start = layout.get(entry, "extent_address")
            size = layout.get(entry, "extent_bytes") & (1 << layout.extent_bits) - 1
            if start and start <= address < start + size:
                gdb.write("%#x, heap %s: %d bytes into a block of %d bytes, an extent at %#x\n" %
                          (address, layout.name(heap, "heap_name"), address - start, size, start))
                return True
        return False


    def in_guards(self, layout, heap, address):
        guards, shift = layout.guards, layout.get(heap + layout.heap_arenas[0], "arena_page_shift")
        base = layout.get(guards, "guards_base") if guards else 0
        if base == 0 or not base <= address < base + layout.get(guards, "guards_bytes"):
            return False
        owner = layout.get(guards, "guards_owner") + 4 * (address - base >> shift)
        which = struct.unpack("<I", memory(owner, 4))[0]
        where = "%#x, heap %s: " % (address, layout.name(heap, "heap_name"))
        if which == 0 or which >= layout.get(guards, "guards_fresh"):
            gdb.write(where + "between guarded blocks, in none\n")
            return True
        block = layout.get(guards, "guards_table") + which * layout.guard_size
        start, size = base + (layout.get(block, "guard_page") << shift), layout.get(block, "guard_pages") << shift
        gdb.write(where + "%d bytes %s the %d bytes of pages of a guarded block at %#x, %s\n" % (
            address - start if address < start + size else address - start - size, "into" if address < start + size else "behind",
            size, start, "handed out" if layout.get(block, "guard_state") == layout.guard_live else "freed"))
        return True


def told_cache(layout, address):
    for heap in heaps(layout):
        for cache in chain(layout, layout.get(heap, "heap_caches"), "cache_next"):
            if cache == address:
                root = layout.get(cache, "cache_root")
                slabs, used, objects, _ = figures(layout, heap, root)
                alias = "" if root == cache else ", in slabs of " + layout.name(root, "cache_name")
                return "cache %s of heap %s: %d of %d objects of %d bytes in use, %d slabs%s" % (
                    layout.name(cache, "cache_name"), layout.name(heap, "heap_name"), used, objects,
                    layout.get(cache, "cache_object_size"), slabs, alias)
    return "no cache of drystone's"


def told_heap(layout, address):
    for heap in heaps(layout):
        if heap == address:
            page, held, count = 1 << layout.get(heap + layout.heap_arenas[0], "arena_page_shift"), 0, 0
            for cache in caches(layout, heap):
                held += figures(layout, heap, cache)[0] * page << layout.get(cache, "cache_order")
                count += 1
            return "heap %s: %d caches, %d bytes in slabs" % (layout.name(heap, "heap_name"), count, held)
    return "no heap of drystone's"


def told_slab(layout, address):
    """By a pointer into the descriptor of its first page."""
    for heap in heaps(layout):
        arena = heap + layout.heap_arenas[0]
        base, shift = layout.get(arena, "arena_base"), layout.get(arena, "arena_page_shift")
        index = (address - layout.get(arena, "arena_desc")) // layout.page_size
        page = layout.get(arena, "arena_desc") + index * layout.page_size
        if base and 0 <= index < layout.get(arena, "arena_committed") and layout.get(page, "page_kind") == layout.page_slab:
            cache = layout.get(page, "page_cache")
            return "slab at %#x, cache %s: %d of %d objects are out of it" % (
                base + (index << shift), layout.name(cache, "cache_name"), layout.get(page, "page_active"), layout.get(cache, "cache_num"))
    return "no slab of drystone's"


TOLD = {"dry_cache": told_cache, "dry_heap": told_heap, "kmem_cache": told_cache, "dry_slab": told_slab}


class Printer:
    """A pointer, and what it points to."""

    def __init__(self, address, tell):
        self.address, self.tell = address, tell

    def to_string(self):
        if self.address == 0:
            return "0x0"
        try:
            return "%#x (%s)" % (self.address, self.tell(Layout(), self.address))
        except (gdb.error, gdb.GdbError):  # no process yet, no drystone in it, memory that is damaged
            return "%#x" % self.address


class Printers(gdb.printing.PrettyPrinter):
    def __call__(self, value):
        kind = value.type.strip_typedefs()
        tell = TOLD.get(kind.target().strip_typedefs().tag) if kind.code == gdb.TYPE_CODE_PTR else None
        return Printer(int(value), tell) if tell else None


gdb.execute("define-prefix drystone")
gdb.printing.register_pretty_printer(None, Printers("drystone"), replace=True)
Caches()
WhatIs()
