# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""top_pty.py CLI PID: drystone top in a terminal of 80x24, driven by keys. PID is holder.cpp, named "holder"."""
import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time

import pyte


class Terminal:
    def __init__(self, *command):
        self.screen = pyte.Screen(80, 24)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "linux"  # what pyte understands
            os.execv(command[0], command)
        self.resize(24, 80)

    def resize(self, lines, columns):
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.screen.resize(lines, columns)

    def read(self, seconds):
        """What comes until nothing has come for so long. False: the terminal was closed."""
        while select.select([self.file], [], [], seconds)[0]:
            try:
                data = os.read(self.file, 65536)
            except OSError:
                return False
            if not data:
                return False
            self.raw += data
            self.stream.feed(data)
        return True

    def press(self, keys):
        os.write(self.file, keys.encode())

    def line(self, number):
        return self.screen.display[number].rstrip()

    def wait(self, holds, what):
        """Until holds(self)."""
        for _ in range(200):
            self.read(0.05)
            if holds(self):
                return
        sys.exit(f"top_pty: not seen: {what}\n" + "\n".join(self.screen.display))

    def status(self):
        for _ in range(200):
            if not self.read(0.05):
                break
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def rows(terminal):
    return [line.split() for line in terminal.screen.display[5:] if line.strip()]


def size(text):
    match = re.fullmatch(r"([+-]?[\d.]+)([KMGT]?)", text)
    if match is None:
        sys.exit("top_pty: no size: " + text)
    return float(match[1]) * 1024 ** " KMGT".index(match[2] or " ")


def one_process(cli, pid):
    t = Terminal(cli, "top", "--delay=0.3", pid)
    t.wait(lambda t: f"holder {pid}" in t.line(0) and "growth" not in t.line(3) and "+" in t.line(3), "two looks at the process")
    if not t.line(4).startswith("CACHE ") or "GROWTH/S" not in t.line(4):
        sys.exit("top_pty: no titles: " + t.line(4))
    if not re.search(r"live [\d.]+M, waste .*, metadata .*", t.line(2)):
        sys.exit("top_pty: no sums: " + t.line(2))
    if {"run-128K", "kmalloc-208"} - {row[0] for row in rows(t)}:
        sys.exit(f"top_pty: caches are missing: {rows(t)}")
    for key, column in (("b", 1), ("w", 4), ("l", 3)):
        t.press(key)
        t.wait(lambda t: f"by {'bytes waste_bytes live_bytes'.split()['bwl'.index(key)]}" in t.line(3), f"sorted after {key}")
        values = [size(row[column]) for row in rows(t) if row[column] != "-"]
        if values != sorted(values, reverse=True):
            sys.exit(f"top_pty: not sorted by column {column}: {values}")
    t.press("n")
    t.wait(lambda t: "by name" in t.line(3) and rows(t)[0][0].startswith("extent-"), "sorted by name")
    t.press("R")
    t.wait(lambda t: "by name, reversed" in t.line(3) and not rows(t)[0][0].startswith("extent-"), "reversed")
    t.press("R>")
    t.wait(lambda t: "by bytes" in t.line(3), "sorted by the next column")
    t.press(">")
    t.wait(lambda t: "by share" in t.line(3), "sorted by the one after it")
    t.press("/run*\r")
    t.wait(lambda t: "only run*" in t.line(3) and all(row[0].startswith("run-") for row in rows(t)), "filtered")
    t.press("d0.2\r")
    t.wait(lambda t: "Seconds" not in t.line(3), "a new delay")
    t.press("h")
    t.wait(lambda t: t.line(0) == "Keys of drystone top" and "Press any key" in "".join(t.screen.display), "help")
    t.press("x")
    t.wait(lambda t: "CACHE" in t.line(4), "back from help")
    # at rest little is sent, and never a screen anew
    start = len(t.raw)
    until = time.monotonic() + 1.5
    while time.monotonic() < until:
        t.read(0.1)
    sent = t.raw[start:]
    if b"\033[2J" in sent or b"\033[J" in sent or not 0 < len(sent) < 2000:
        sys.exit(f"top_pty: {len(sent)} bytes were sent for a screen at rest: {sent[:300]}")
    t.resize(12, 60)
    t.wait(lambda t: t.line(4).startswith("CACHE") and "by share" in t.line(3), "a smaller screen")
    t.press("q")
    if t.status() != 0:
        sys.exit("top_pty: q did not end it well")
    if b"\033[?25h" not in t.raw[-200:]:
        sys.exit("top_pty: the cursor was not given back")


def all_processes(cli, pid):
    t = Terminal(cli, "top", "-d", "0.3")
    t.wait(lambda t: any(row[:2] == [pid, "holder"] for row in rows(t)), "the process in the list")
    for _ in range(100):  # others may run on drystone, too
        row = next(i for i, row in enumerate(rows(t)) if row[:2] == [pid, "holder"])
        if t.screen.buffer[5 + row][0].bold:
            break
        t.press("\033[B")
        t.read(0.2)
    t.press("\r")
    t.wait(lambda t: f"holder {pid}" in t.line(0), "the chosen process")
    t.press("\033")
    t.wait(lambda t: "processes" in t.line(0) and "PROGRAM" in t.line(4), "back to the list")
    t.press("q")
    if t.status() != 0:
        sys.exit("top_pty: q did not end the list well")


def main():
    cli, pid = sys.argv[1:]
    one_process(cli, pid)
    all_processes(cli, pid)


main()
