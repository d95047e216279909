# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The figures of the four documents, each with where it is from."""

OBJFREELIST = "OBJFREELIST_SLAB, mm/slab, 2016"
REFILL = "Refill without the node lock, mm/slab, 2016"
STACK = "Descriptor in the page, freelist as a stack, mm/slab, 2013"
SEGREGATED = "SLOB with segregated lists, RFC, 2021"

# Number of caches: objfreelist, leftover, dedicated, off-slab.
CENSUS = {"before": (0, 60, 25, 41), "objfreelist": (97, 12, 15, 2)}

# Cycles for alloc and free: size: (before alloc, free, after alloc, free).
REPEAT = {
    32: (116, 78, 117, 78), 64: (121, 80, 124, 81), 128: (168, 85, 130, 84), 256: (287, 95, 177, 92),
    512: (370, 117, 286, 112), 1024: (413, 156, 344, 141), 2048: (622, 248, 519, 210), 4096: (1102, 452, 789, 391),
}
CONTENTION = {
    32: (355, 750, 248, 966), 64: (452, 812, 261, 949), 128: (559, 1070, 314, 1016), 256: (1176, 980, 741, 1061),
    512: (1939, 1189, 1246, 1152), 1024: (3521, 1278, 2437, 1259), 2048: (7152, 1838, 4980, 1800),
    4096: (13438, 2013, 9000, 2078),
}

# Objects per slab: name: (slot, before, after).
STACK_OBJECTS = {"kmalloc-32": (32, 112, 113), "kmalloc-64": (64, 59, 60), "kmalloc-96": (128, 30, 31),
                 "kmalloc-128": (128, 30, 31)}
STACK_MISSES = (238309671, 229945138)
STACK_SECONDS = (12.010, 11.628)

SLOB_SECONDS = (189.9, 20.8)
SLOB_MISSES = (6786521959, 832404011)
SLOB_SWITCHES = (8818226, 630032)
SLOB_BOOT_KB = (7908, 7560)
SLOB_AFTER_KB = (8544, 7836)
SLOB_TINY_KB = (668, 716)  # 32 bit, after boot
