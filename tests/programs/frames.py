# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Run by gdb: at each stack that the library takes, gdb's own frames, and which of them the library has, too.

Says "frames N of M in S stacks" and, of up to 5 stacks that differ, where. $stacks: how many to look at, $skip: how many of
the library's to pass over between two."""
import gdb

MOST = 64  # frames that the library keeps of a stack in reports


def frames_above(library):
    """Program counters of the frames outside of the library, inlined functions left out."""
    frame, result = gdb.newest_frame(), []
    while frame is not None and frame.is_valid():
        if frame.type() != gdb.INLINE_FRAME:
            result.append((frame.pc(), frame.name()))
        # of the first one gdb goes on into the program's arguments
        frame = frame.older() if frame.name() != "_dl_start_user" else None
    first = next(i for i, (pc, _) in enumerate(result) if gdb.solib_name(pc) != library)
    return result[first:first + MOST]


def taken(buffer, count):
    memory = gdb.selected_inferior().read_memory(buffer, count * 8)
    return [int.from_bytes(memory[i * 8:i * 8 + 8], "little") for i in range(count)]


def common(a, b):
    """The length of the longest common subsequence."""
    row = [0] * (len(b) + 1)
    for x in a:
        before = 0
        for j, y in enumerate(b):
            before, row[j + 1] = row[j + 1], before + 1 if x == y else max(row[j + 1], row[j])
    return row[-1]


def main():
    wanted = int(gdb.convenience_variable("stacks"))
    skip = int(gdb.convenience_variable("skip"))
    gdb.execute("catch load libdrystone")
    gdb.execute("run")
    at = gdb.Breakpoint("*dry_port_stack")
    gdb.execute("continue", to_string=True)
    same = all_of = stacks = told = 0
    while stacks < wanted and gdb.selected_inferior().pid != 0:
        library = gdb.solib_name(gdb.selected_frame().pc())
        buffer = int(gdb.parse_and_eval("$rdi"))
        room = int(gdb.parse_and_eval("$rsi"))
        back = int.from_bytes(gdb.selected_inferior().read_memory(int(gdb.parse_and_eval("$rsp")), 8), "little")
        seen = frames_above(library)[:room]
        at.enabled = False
        gdb.Breakpoint("*0x%x" % back, temporary=True, internal=True).thread = gdb.selected_thread().num
        gdb.execute("continue", to_string=True)
        mine = taken(buffer, int(gdb.parse_and_eval("$rax")))
        n = common([pc for pc, _ in seen], mine)
        same, all_of, stacks = same + n, all_of + len(seen), stacks + 1
        if n < len(seen) and told < 5:
            told += 1
            for pc, name in seen:
                print("%s 0x%x %s in %s" % (" " if pc in mine else "!", pc, name, gdb.solib_name(pc)))
            print("-")
        at.enabled = True
        at.ignore_count = skip
        gdb.execute("continue", to_string=True)
    print("frames %d of %d in %d stacks" % (same, all_of, stacks))


main()
