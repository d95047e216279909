# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The allocators that drystone-tiny is measured against, built into the programs of bench/tiny for a
Cortex-M3 and, where their source is to be had, for the host. Peers are fetched when they are measured."""
import re
import shutil
import subprocess
from pathlib import Path

import targets
from targets import CORTEX_M3, ICOUNT, ROOT, Failed

BENCH = ROOT / "bench/tiny"
OUT = ROOT / "build/tiny"
OURS = ("tiny", "sequential")
PEERS = ("newlib-nano", "picolibc", "rlsf")
HOSTED_PEERS = ("rlsf",)  # those whose source is to be had
RUST_TARGET = "thumbv7m-none-eabi"
NANO_PARTS = ["lib_a-nano-%s.o" % part for part in ("mallocr", "freer", "callocr", "reallocr", "malignr", "msizer")]
PICOLIBC_PARTS = ["nano-malloc-%s.c.o" % part for part in
                  ("malloc", "free", "calloc", "realloc", "memalign", "malloc_usable_size")]


def multilib(compiler, *flags):
    return targets.command([*compiler, *flags]).strip()


def nano_objects():
    """newlib-nano's allocator alone, out of its archive."""
    archive = multilib(["arm-none-eabi-gcc", "-specs=nano.specs", *CORTEX_M3.machine], "-print-file-name=libc_nano.a")
    folder = OUT / "newlib-nano"
    folder.mkdir(parents=True, exist_ok=True)
    targets.command(["arm-none-eabi-ar", "x", archive, *NANO_PARTS], cwd=folder)
    return [folder / part for part in NANO_PARTS]


def picolibc_objects():
    listing = multilib(["arm-none-eabi-gcc", *CORTEX_M3.machine], "-print-multi-directory")
    archive = Path("/usr/lib/picolibc/arm-none-eabi/lib") / listing / "libc.a"
    folder = OUT / "picolibc"
    folder.mkdir(parents=True, exist_ok=True)
    targets.command(["arm-none-eabi-ar", "x", archive, *PICOLIBC_PARTS], cwd=folder)
    return [folder / part for part in PICOLIBC_PARTS]


def rlsf_archive(host):
    """Fetches the crate and builds it; Failed if that cannot be."""
    if not shutil.which("cargo"):
        raise Failed("cargo is missing")
    source = OUT / "rlsf"
    shutil.copytree(BENCH / "rlsf", source, dirs_exist_ok=True)
    command = ["cargo", "build", "-q", "--release", "--target-dir", source / "out"]
    if not host:
        if shutil.which("rustup"):
            subprocess.run(["rustup", "-q", "target", "add", RUST_TARGET], check=False, capture_output=True)
        command += ["--target", RUST_TARGET]
    targets.command(command, cwd=source)
    return source / "out" / ("" if host else RUST_TARGET) / "release/libsubject_rlsf.a"


def measured(allocator, program, host):
    """Sources and flags that put an allocator behind bench/tiny/subject.h, for one program."""
    parts = [BENCH / ("%s.c" % program)]
    if allocator in OURS:
        library = host_library(allocator) if host else CORTEX_M3.library(allocator, OUT)
        return parts + [BENCH / "subject_drystone.c", library], ['-DSUBJECT_NAME="%s"' % allocator]
    if host and allocator not in HOSTED_PEERS:
        raise Failed("%s: its malloc is not to be had for the host" % allocator)
    if allocator == "rlsf":
        return parts + [rlsf_archive(host)], []
    if allocator == "newlib-nano":
        return parts + [BENCH / "subject_libc.c", *nano_objects()], ["-DSUBJECT_NEWLIB_NANO"]
    return parts + [BENCH / "subject_libc.c"], []


def host_library(allocator):
    """As for a machine without an OS: one thread, no lock, the same for both."""
    folder = OUT / "host" / allocator
    folder.mkdir(parents=True, exist_ok=True)
    objects = []
    for source in targets.sources(allocator):
        objects.append(folder / (source.stem + ".o"))
        targets.command(["cc", "-std=gnu11", "-O2", "-ffreestanding", "-fno-strict-aliasing", "-I", ROOT / "include",
                         "-I", ROOT / "src", "-I", ROOT / "src/tiny/bare", "-c", source, "-o", objects[-1]])
    archive = folder / ("libdrystone-%s.a" % allocator)
    archive.unlink(missing_ok=True)
    targets.command(["ar", "rcs", archive, *objects])
    return archive


def cortex_m3_program(allocator, program, *more):
    parts, flags = measured(allocator, program, False)
    # Link-time optimisation lets the calls of subject.h vanish: what is measured is the allocator's own call.
    return CORTEX_M3.program(OUT / "cortex-m3" / ("%s-%s.elf" % (program, allocator)), [*parts, *more], "-O2", "-flto", "-I",
                             BENCH / "cortex-m3", *flags)


def host_program(allocator, program, *more):
    parts, flags = measured(allocator, program, True)
    out = OUT / "host" / ("%s-%s" % (program, allocator))
    out.parent.mkdir(parents=True, exist_ok=True)
    targets.command(["cc", "-std=gnu11", "-O2", "-flto", "-Wall", "-Wextra", "-I", ROOT / "include", "-I",
                     BENCH / "host", *flags, *parts, *more, "-o", out])
    return out


def run_counted(image, *arguments, timeout=300):
    """A program on the emulated Cortex-M3 whose clock counts instructions; its output."""
    status, output = CORTEX_M3.run(image, *arguments, options=ICOUNT, timeout=timeout)
    if status != 0:
        raise Failed("%s %s: exit status %s\n%s" % (image.name, " ".join(map(str, arguments)), status, output))
    return output


def text_of_calls(allocator):
    """.text of an image that uses every call of the library, without memcpy() and memset(): what is linked in."""
    library = CORTEX_M3.library(allocator, OUT)
    own = ("dry_tiny_", "dry_port_", "dry_link_", "dry_pages_", "dry_pool_", "dry_map_", "dry_sheet_")
    names = re.findall(r" T (dry_\w+)$", targets.command(["arm-none-eabi-nm", library]), re.M)
    calls = [name for name in names if not name.startswith(own)]
    if len(calls) < 20:
        raise Failed("%s has only %s" % (library, " ".join(calls)))
    image = OUT / "cortex-m3" / ("calls-%s.elf" % allocator)
    targets.command(["arm-none-eabi-gcc", *CORTEX_M3.machine, "-nostdlib", "-Wl,--gc-sections", "-Wl,-e,dry_heap_create",
                     "-Wl,--defsym=memcpy=0", "-Wl,--defsym=memset=0", *["-Wl,-u," + call for call in calls],
                     library, "-lgcc", "-o", image])
    return int(targets.command(["arm-none-eabi-size", image]).splitlines()[1].split()[0])


# What a program calls to make heaps and caches and to allocate: as much as the peers have, and caches.
LEAST_CALLS = """heap_create cache_create cache_alloc cache_free alloc zalloc alloc_aligned realloc free usable_size""".split()


def text_alone(allocator):
    """.text of an image of the least calls with their reports, compiled with link-time optimisation."""
    image = OUT / "cortex-m3" / ("alone-%s.elf" % allocator)
    targets.command(["arm-none-eabi-gcc", *CORTEX_M3.machine, "-std=gnu11", "-Os", "-flto", "-ffreestanding",
                     "-ffunction-sections", "-fdata-sections", "-fno-strict-aliasing", "-I", ROOT / "include", "-I",
                     ROOT / "src", "-I", ROOT / "src/tiny/bare", *targets.sources(allocator), "-nostdlib",
                     "-Wl,--gc-sections", "-Wl,-e,dry_heap_create", "-Wl,--unresolved-symbols=ignore-all",
                     *["-Wl,-u,dry_" + name for name in LEAST_CALLS], "-o", image])
    return int(targets.command(["arm-none-eabi-size", image]).splitlines()[1].split()[0])


def sizes(allocator, part=""):
    """(.text with constants, static RAM) of the whole library on a Cortex-M3, in bytes. part: "-check", of ours."""
    if allocator in OURS:
        objects = [CORTEX_M3.library(allocator, OUT, part=part)]
    elif allocator == "newlib-nano":
        objects = nano_objects()
    elif allocator == "picolibc":
        objects = picolibc_objects()
    else:
        image = OUT / "cortex-m3/rlsf-alone.elf"
        keep = ["open", "alloc", "free", "aligned", "resize"]
        targets.command(["arm-none-eabi-gcc", *CORTEX_M3.machine, "-nostdlib", "-Wl,--gc-sections", "-Wl,-e,subject_open",
                         *["-Wl,-u,subject_%s" % name for name in keep], rlsf_archive(False), "-lgcc", "-o", image])
        objects = [image]
    text = ram = 0
    for line in targets.command(["arm-none-eabi-size", *objects]).splitlines()[1:]:
        code, data, bss = map(int, line.split()[:3])
        text, ram = text + code + data, ram + data + bss
    return text, ram
