# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The machines that drystone-tiny is checked and measured on: how programs are built for each and run on it by QEMU:
small ones with picolibc as their C library, and big-endian ones with Linux. For scripts/check-targets, wcet and tiny-table."""
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SEMIHOSTING = ["--oslib=semihost", "--crt0=semihost"]


class Failed(Exception):
    pass


def command(arguments, **options):
    done = subprocess.run([str(a) for a in arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", **options)
    if done.returncode:
        raise Failed("%s\n%s" % (" ".join(str(a) for a in arguments), done.stdout[-4000:]))
    return done.stdout


class Target:
    """A board without an operating system."""
    c_library = ["-specs=picolibc.specs", "-D_POSIX_TIMERS=1"]
    support = sorted((ROOT / "tests/targets").glob("*.c"))  # what a test program needs besides itself
    support_flags = ["-I", ROOT / "tests/targets/include"]

    def __init__(self, name, prefix, machine, flash, ram, emulator):
        self.name, self.prefix, self.machine, self.emulator = name, prefix, machine, emulator
        # The linker's warnings about objects of picolibc that do not say whether their stack is executable are turned off.
        self.linking = [*SEMIHOSTING, "-Wl,--no-warn-execstack", "-Wl,--no-warn-rwx-segments"]
        self.linking += ["-Wl,--defsym=__%s=%#x" % pair for pair in
                         (("flash", flash[0]), ("flash_size", flash[1]), ("ram", ram[0]), ("ram_size", ram[1]),
                          ("stack_size", 0x40000))]

    def compiler(self, *flags):
        return [self.prefix + "gcc", *self.c_library, *self.machine, "-std=gnu11", "-Os", "-Wall", "-Wextra", "-Werror",
                "-D_GNU_SOURCE", "-I", ROOT / "include", *flags]

    def library(self, allocator, folder, config=ROOT / "src/tiny/bare", part=""):
        """An archive: what allocates of `tiny` or `sequential`, or part "-check": what verifies, lists and reports. config: the
        folder of tiny_config.h."""
        folder = Path(folder) / self.name / (allocator + part)
        folder.mkdir(parents=True, exist_ok=True)
        objects = []
        for source in sources(allocator, part):
            objects.append(folder / (source.stem + ".o"))
            command(self.compiler("-ffreestanding", "-ffunction-sections", "-fdata-sections", "-fno-strict-aliasing",
                                  "-Wshadow", "-I", ROOT / "src", "-I", config,
                                  "-c", source, "-o", objects[-1]))
        archive = folder / ("libdrystone-%s%s.a" % (allocator, part))
        archive.unlink(missing_ok=True)
        command([self.prefix + "ar", "rcs", archive, *objects])
        return archive

    def libraries(self, allocator, folder, config=ROOT / "src/tiny/bare"):
        """Both archives, in the order in which they are linked."""
        return [self.library(allocator, folder, config, part) for part in ("-check", "")]

    def program(self, out, parts, *flags):
        """Compiles and links; parts are sources, objects, archives."""
        Path(out).parent.mkdir(parents=True, exist_ok=True)
        command(self.compiler(*flags, *parts, "-o", out, *self.linking))
        return out

    def run(self, image, *arguments, options=(), timeout=300):
        """(exit status, output) of a program; None: it did not end."""
        config = ",".join(["enable=on,target=native"] + ["arg=%s" % a for a in arguments])
        return run_emulator([*self.emulator, *options, "-semihosting-config", config, "-kernel", image], timeout)


class LinuxTarget(Target):
    """A processor of the other byte order. The allocator is built as for a board; the test programs around it have Linux."""
    c_library = []
    support = [ROOT / "tests/targets/hooks.c"]
    support_flags = ["-pthread"]

    def __init__(self, name, prefix, emulator):
        self.name, self.prefix, self.machine, self.emulator = name, prefix, [], [emulator]
        self.linking = ["-static"]

    def run(self, image, *arguments, options=(), timeout=300):
        return run_emulator([*self.emulator, *options, image, *arguments], timeout)


def run_emulator(arguments, timeout):
    try:
        done = subprocess.run([str(a) for a in arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=timeout,
                              env={**os.environ, "QEMU_AUDIO_DRV": "none"})
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        return None, (late.stdout or b"").decode(errors="replace") + "\n(no end after %d s)" % timeout


def sources(allocator, part=""):
    """What libdrystone-`allocator``part`.a is compiled from for a machine without an OS: the lists of cmake/tiny.cmake."""
    tiny, text = ROOT / "src/tiny", (ROOT / "cmake/tiny.cmake").read_text(encoding="utf-8")
    lists = ("check_common", allocator + "_check") if part else ("tiny_common", allocator + "_slabs")
    names = [name for which in lists for name in re.search(r"^set\(dry_%s ([^)]*)\)" % which, text, re.M).group(1).split()]
    more = ["src/tiny/bare/text.c", "src/base/fmt.c"] if part else ["src/tiny/bare/hooks.c"]
    return [tiny / (name + ".c") for name in names] + [ROOT / path for path in more]


def allocators():
    """Those of src/tiny that there are."""
    return [name for name in ("tiny", "sequential") if all(source.exists() for source in sources(name))]


ICOUNT = ("-icount", "shift=10")  # 1024 ns an instruction, see bench/tiny/cortex-m3/counter.h

CORTEX_M3 = Target("cortex-m3", "arm-none-eabi-", ["-mcpu=cortex-m3", "-mthumb"],
                   (0, 0x400000), (0x21000000, 0x1000000),
                   ["qemu-system-arm", "-M", "mps2-an385", "-nographic", "-monitor", "none"])
RISCV32 = Target("riscv32", "riscv64-unknown-elf-", ["-march=rv32imac", "-mabi=ilp32", "-mcmodel=medany"],
                 (0x80000000, 0x400000), (0x80400000, 0x1000000),
                 ["qemu-system-riscv32", "-M", "virt", "-m", "64M", "-bios", "none", "-nographic", "-monitor", "none"])
RISCV64 = Target("riscv64", "riscv64-unknown-elf-", ["-march=rv64imac", "-mabi=lp64", "-mcmodel=medany"],
                 (0x80000000, 0x400000), (0x80400000, 0x1000000),
                 ["qemu-system-riscv64", "-M", "virt", "-m", "64M", "-bios", "none", "-nographic", "-monitor", "none"])
PPC32 = LinuxTarget("ppc32", "powerpc-linux-gnu-", "qemu-ppc")
S390X = LinuxTarget("s390x", "s390x-linux-gnu-", "qemu-s390x")
BIG_ENDIAN = (PPC32, S390X)
ALL = (CORTEX_M3, RISCV32, RISCV64, *BIG_ENDIAN)


def fail(text):
    print(text, file=sys.stderr, flush=True)
    sys.exit(1)
