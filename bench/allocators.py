# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The allocators that are compared, where their libraries are, and the C programs that run under them."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("BUILD", ROOT / "build")).resolve()

# name, places to look (the first that exists counts; a bare name is looked for in the
# library folders)
PEERS = [
    ("mimalloc", [BUILD / "peers/mimalloc/cmeel.prefix/lib/libmimalloc.so.3.4", "libmimalloc.so.3.4"]),
    ("glibc", []),
    ("jemalloc", ["libjemalloc.so.2"]),
    ("tcmalloc", ["libtcmalloc_minimal.so.4", "libtcmalloc.so.4"]),
    ("tbbmalloc", ["libtbbmalloc_proxy.so.2"]),
    ("mimalloc2", [BUILD / "peers/libmimalloc2.so", "libmimalloc.so.2"]),
    ("snmalloc", [BUILD / "peers/libsnmalloc.so"]),
    ("rpmalloc", [BUILD / "peers/librpmalloc.so"]),
    ("tcmalloc-google", [BUILD / "peers/libtcmalloc-google.so"]),
]
OPTIONAL = ("mimalloc2", "tcmalloc-google")  # not missed unless they are asked for

# What a library needs in its environment, by file name. Google's tcmalloc reaches its per-CPU lists by restartable sequences that it
# registers itself; where the C library did so before, it goes a way that is half as fast (its own documents say to set this).
NEEDS = {"libtcmalloc-google.so": {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}}


def say(text, end="\n"):
    print(text, end=end, file=sys.stderr, flush=True)


def find_library(places):
    folders = ["/usr/local/lib", "/lib", "/usr/lib", "/lib64", "/usr/lib64"]
    folders += [str(p) for top in ("/lib", "/usr/lib") for p in Path(top).glob("*-linux-gnu*")]
    for place in places:
        if isinstance(place, Path):
            if place.exists():
                return str(place)
            continue
        for folder in folders:
            path = Path(folder) / place
            if path.exists():
                return str(path)
    return None


def find(wanted, given):
    """{name: library to preload, None for the C library's own}, drystone first."""
    found = {"drystone": str(BUILD / "libdrystone.so")}
    for name, places in PEERS:
        path = given.get(name) or find_library(places)
        if wanted and name not in wanted:
            continue
        if path or name == "glibc":
            found[name] = path
        elif wanted or name not in OPTIONAL:
            say(f"bench: no {name}: not installed, skipped")
    for name, path in given.items():
        found.setdefault(name, path)
    for name in wanted or []:
        if name not in found and name not in dict(PEERS):
            sys.exit(f"bench: no peer \"{name}\" (known: {' '.join(n for n, _ in PEERS)})")
    return found


def version(name, given=None):
    """What of a peer is measured: the crate it was built from, or its library's own name."""
    path = Path(given or find_library(dict(PEERS).get(name, [])) or "")
    crate = {"mimalloc2": "libmimalloc-sys", "tcmalloc-google": "libtcmalloc-sys"}.get(name, name + "-sys")
    lock = BUILD / "peers" / crate / "Cargo.lock"
    if path.parent == BUILD / "peers" and lock.exists():
        _, _, rest = lock.read_text(encoding="utf-8").partition(f'name = "{crate}"\nversion = "')
        return crate + " " + rest.split('"')[0]
    return os.path.basename(os.path.realpath(path))


def given_peers(parser, texts):
    """Of NAME=LIBRARY on the command line."""
    for text in texts:
        _, _, path = text.partition("=")
        if not path or not os.path.exists(path):
            parser.error(f"--peer {text}: no such library")
    return dict(text.split("=", 1) for text in texts)


def add_options(parser):
    parser.add_argument("--peers", metavar="LIST", help="only these, separated by commas: " + ",".join(n for n, _ in PEERS))
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=LIBRARY", help="a peer that lies elsewhere; may be repeated")
    parser.add_argument("--no-fetch", action="store_true", help="do not try to install peers")


def fetch(all_peers):
    command = [str(ROOT / "bench/peers")] + (["--all"] if all_peers else [])
    subprocess.run(command, env={**os.environ, "BUILD": str(BUILD)}, check=False)


def need_build():
    if not (BUILD / "libdrystone.so").exists():
        sys.exit(f"bench: no {BUILD}/libdrystone.so; run make first")
    if not shutil.which(os.environ.get("CC", "cc").split()[0]):
        sys.exit("bench: no C compiler")


def compile_program(target, sources, flags=(), link=(), compiler="CC"):
    target.parent.mkdir(parents=True, exist_ok=True)
    driver = os.environ.get(compiler, {"CC": "cc", "CXX": "c++"}[compiler]).split()
    command = [*driver, *flags, *map(str, sources), "-o", str(target), *link]
    if subprocess.run(command, check=False).returncode != 0:
        sys.exit(f"bench: cannot compile {target.name}")


def needs(library):
    """Of what LD_PRELOAD will be: a library, or several with a colon between them."""
    names = [os.path.basename(path) for path in (library or "").split(":")]
    return next((NEEDS[name] for name in names if name in NEEDS), {})


def served_by(path, library):
    """Whether `path`, which served malloc, is what preloading `library` should lead to."""
    if not library:
        return True
    if not path:
        return False
    # A proxy library leads to its implementation; a preload that did not take leads to libc.
    if "proxy" in os.path.basename(library):
        return not ("/libc.so" in path or "/libc-" in path)
    return os.path.realpath(path) == os.path.realpath(library)
