# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Kernels with drystone and beside it: got from Debian's source, built once, booted. For scripts/kernel, kernel-bench and
check-aarch64."""
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import kernel_tree
from debian import Packages

CACHE = Path(os.environ.get("DRYSTONE_KERNEL") or Path.home() / ".cache/drystone-kernel")
LATER = "6.12"  # where SLUB stands alone; worlds with its name are of that version, others of 6.1
CONFIG = Path(kernel_tree.HOME) / "kernel/config"
JOBS = os.environ.get("JOBS") or str(os.cpu_count())
CROSS = {"arm64": "aarch64-linux-gnu-"}
ARCH = {"uml": ["ARCH=um", "SUBARCH=x86_64"], "x86": ["ARCH=x86_64"], "i386": ["ARCH=i386"],
        "arm64": ["ARCH=arm64", "CROSS_COMPILE=" + CROSS["arm64"]]}
IMAGE = {"uml": "linux", "x86": "arch/x86/boot/bzImage", "i386": "arch/x86/boot/bzImage", "arm64": "arch/arm64/boot/Image"}
OPTIONS = {"drystone": "CONFIG_SLAB=y\nCONFIG_DRYSTONE=y\n", "drystone-tiny": "CONFIG_SLOB=y\nCONFIG_DRYSTONE_TINY=y\n",
           "slab": "CONFIG_SLAB=y\n", "slab-before": "CONFIG_SLAB=y\nCONFIG_DRYSTONE_PLAIN_SLAB=y\n",
           "slub": "CONFIG_SLUB=y\nCONFIG_SLUB_DEBUG=y\nCONFIG_SLUB_CPU_PARTIAL=y\n", "slob": "CONFIG_SLOB=y\n",
           "slub-plain": "CONFIG_SLUB=y\nCONFIG_SLUB_DEBUG=y\n# CONFIG_SLUB_CPU_PARTIAL is not set\n"}
# Into the environment of the first program: where UML cannot keep those registers (kernel_tree.py) nothing may rely on them.
NO_AVX = "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX_Fast_Unaligned_Load,-AVX2_Usable,-AVX512F,-AVX512VL,-AVX512BW,-AVX2,-AVX"
EMULATED = "tsc=reliable no_timer_check" # an emulator that waits for its turn has missed ticks, which are no fault of its timer
# UML whose processes somebody stops (SIGSTOP) takes that for what its own programs did. Then it is booted again.
STOPPED, AGAIN = "child stopped with signal 19", 5
LIMIT = 1800  # seconds for a boot: millions of checks of trees in an emulator, on a machine that has other work


class Failed(Exception):
    pass


def run(*command, **options):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        raise Failed("%s\n%s" % (shlex.join(map(str, command)), done.stdout[-12000:]))
    return done.stdout


def version_of(world):
    return LATER if LATER in parts(world) else "6.1"


def tree_of(world):
    return CACHE / ("linux-" + version_of(world))


def source(world):
    """Unpacked, and with our files as they are now."""
    name, tree = "linux-source-" + version_of(world), tree_of(world)
    if not tree.exists():
        archive = Path("/usr/src") / (name + ".tar.xz")
        if not archive.exists():
            raise Failed("there is no %s (apt install %s)" % (archive, name))
        new = CACHE / "unpack"
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        run("tar", "xf", archive, "-C", new)
        (new / name).rename(tree)
        new.rmdir()
    kernel_tree.add(tree, version_of(world))


def make(world, folder, *targets):
    compiler = ["CC=ccache %sgcc" % CROSS.get(parts(world)[0], "")] if shutil.which("ccache") else []
    if "clang" in parts(world):
        compiler = ["LLVM=1", "SUBARCH=x86"] # for UML it asks by that name
    return run("nice", "-n", "15", "make", "-s", "-C", tree_of(world), "O=%s" % folder, *ARCH[parts(world)[0]], *compiler, *targets,
               env={**os.environ, "MAKEFLAGS": "", "KBUILD_BUILD_TIMESTAMP": "0"})


def parts(world):
    return world.split("-")


def folder_of(world, allocator):
    return CACHE / "build" / ("%s-%s" % (world, allocator))


def build(world, allocator):
    """The image."""
    folder, kind = folder_of(world, allocator), parts(world)[0]
    family = OPTIONS[allocator].split("\n")[0]
    beside = [folder_of(world, other) for other in sorted(OPTIONS, key=lambda other: OPTIONS[other].split("\n")[0] != family)]
    beside = [other for other in beside if (other / IMAGE[kind]).exists()]
    if beside and not folder.exists(): # most of a kernel is the same whatever the allocator, all but that within a family
        run("cp", "-a", beside[0], folder)
    folder.mkdir(parents=True, exist_ok=True)
    fragment, old = folder / "fragment", None
    text = "".join((CONFIG / (name + ".config")).read_text() for name in ["common"] + parts(world)) + OPTIONS[allocator]
    if fragment.exists():
        old = fragment.read_text()
    if text != old or not (folder / ".config").exists():
        fragment.write_text(text)
        make(world, folder, "KCONFIG_ALLCONFIG=%s" % fragment, "allnoconfig")
        missing = set(re.findall(r"CONFIG_(?:SL.B|DRYSTONE\w*)=y", OPTIONS[allocator])) - set((folder / ".config").read_text().split("\n"))
        if (allocator, version_of(world)) == ("drystone", LATER):
            missing -= {"CONFIG_SLAB=y"} # it stands in SLUB's place
        if missing: # another allocator would stand there
            fragment.unlink()
            raise Failed("%s: Kconfig does not give %s" % (folder.name, ", ".join(sorted(missing))))
    # With registers of 16 bytes GCC stores to UML's objects as if they were aligned to 16, which SLOB's are not.
    more = ["KCFLAGS=-mno-sse"] if (kind, allocator) == ("uml", "slob") else []
    targets = [Path(IMAGE[kind]).name] + ["modules"] * ("small" not in parts(world))
    said = make(world, folder, "-j" + JOBS, *more, *targets)
    warnings = re.findall(r".*drystone.*warning:.*", said)
    if warnings:
        raise Failed("\n".join(warnings))
    return folder / IMAGE[kind]


MODULES = "lib/test_*.ko", "mm/drystone/*.ko", "drivers/misc/lkdtm/*.ko", "mm/kfence/*.ko", "mm/kasan/*.ko"
PROGRAMS = ["busybox", "hackbench", "stress-ng"]


def programs_of(world):
    """What the first file system has of programs, with the paths that they have there: this machine's, or for 32 bits Debian's."""
    if parts(world)[0] == "i386":
        folder, root = CACHE / "i386/debs", CACHE / "i386/root"
        if not root.exists():
            packages = Packages(run, folder, "i386")
            packages.download("busybox-static", "rt-tests", "libc6", "libnuma1")
            new = root.with_name("unpack")
            packages.unpack(new)
            new.rename(root)
        return {"bin/busybox": root / "bin/busybox", "bin/hackbench": root / "usr/bin/hackbench",
                **{"lib/" + path.name: path for path in root.rglob("lib/**/*.so.?")}}
    found = {"bin/" + name: shutil.which(name) for name in PROGRAMS}
    if None in found.values():
        raise Failed("busybox, hackbench or stress-ng is missing (apt install busybox-static rt-tests stress-ng)")
    libraries = re.findall(r"(/\S+) \(0x", run("ldd", *list(found.values())[1:]))
    return {**found, **{name[1:]: os.path.realpath(name) for name in libraries}}


def smallest_file_system(world, root):
    """A first program that ends the machine."""
    root.mkdir(exist_ok=True)
    run("gcc", "-m32" if parts(world)[0] == "i386" else "-m64", "-Os", "-static", "-nostdlib", "-fno-pie", "-no-pie", "-fno-stack-protector",
        "-s", "-Wl,--build-id=none", "-o", root / "init", CONFIG / "smallest.c")
    return root


def first_file_system(world, build_folder):
    """A folder with busybox, hackbench, stress-ng and what they need; the init of kernel/config; and the kernel's modules that test."""
    root = build_folder / "root"
    shutil.rmtree(root / "modules", ignore_errors=True)
    for folder in ("bin", "proc", "sys", "dev", "tmp", "modules"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for name, path in programs_of(world).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, root / name)
    for name in ("sh", "mount", "awk", "cat", "cut", "sleep", "poweroff", "reboot", "echo", "grep", "insmod", "rmmod", "mkdir",
                 "rmdir", "rm", "seq"):
        link = root / "bin" / name
        if not link.is_symlink():
            link.symlink_to("busybox")
    shutil.copy2(CONFIG / "init", root / "init")
    shutil.copy2(CONFIG / "soak", root / "soak")
    for module in [path for pattern in MODULES for path in build_folder.glob(pattern)]:
        run("strip", "--strip-debug", "-o", root / "modules" / module.name, module)
    return root


def packed(root):
    archive = root.with_suffix(".cpio.gz")
    names = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
    done = subprocess.run("cpio -o -H newc --quiet | gzip > %s" % shlex.quote(str(archive)), shell=True, input=names, text=True, cwd=root)
    if done.returncode:
        raise Failed("cpio")
    return archive


def boot(world, allocator, cpus, megabytes, options, limit=LIMIT):
    """Built, if it is not up to date, and started."""
    build(world, allocator)
    return start(world, allocator, cpus, megabytes, options, limit)


def start(world, allocator, cpus, megabytes, options, limit=LIMIT):
    """The log of a kernel that is built. Several can run at a time, if they are of different kernels."""
    folder, memory = folder_of(world, allocator), "%dK" % (megabytes * 1024)
    image = folder / IMAGE[parts(world)[0]]
    root = smallest_file_system(world, folder / "smallest") if "small" in parts(world) else first_file_system(world, folder)
    if parts(world)[0] == "uml":
        # Where it lies decides how large its map of pages is: at the same place each time.
        command = ["setarch", "-R", image, "mem=" + memory, "root=none", "rootfstype=hostfs", "rootflags=%s" % root, "rw", "init=/init",
                   "con=null", "con0=fd:0,fd:1", "panic=-1", NO_AVX, *options.split()]
    else:
        command = ["qemu-system-x86_64", "-machine", "pc", "-accel", "tcg,thread=multi", "-cpu", "max", "-m", memory,
                   "-smp", "%d,sockets=%d,cores=1,threads=1" % (cpus, cpus), "-nographic", "-no-reboot", "-nic", "none", "-kernel", image,
                   "-initrd", packed(root), "-append", " ".join([EMULATED, "console=ttyS0 rdinit=/init panic=-1 drystone.end=reboot", options])]
    path = root.parent / "log"
    for _ in range(AGAIN):
        with open(path, "w", encoding="utf-8") as out:
            try:
                subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, timeout=limit, check=False)
            except subprocess.TimeoutExpired:
                out.write("\nFAILED: the kernel runs for more than %d seconds\n" % limit)
        log = path.read_text(encoding="utf-8", errors="replace")
        if STOPPED not in log:
            break
    return log
