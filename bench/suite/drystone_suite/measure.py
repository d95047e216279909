# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""One process under one allocator: what it printed, its time, its memory."""
import hashlib
import os
import shutil
import signal
import subprocess
from pathlib import Path

from allocators import BUILD, ROOT, compile_program, needs, served_by
from drystone_experiments import worker

HERE = ROOT / "bench/suite"
OUT = BUILD / "suite"
IDLE = 5  # seconds, after which it is looked how much memory a pattern that ends with live blocks still has, in full runs
FULL = 0.5  # at this scale or more
TIMEOUT = 300


class Failed(Exception):
    pass


class Context:
    """What a run has at hand. `folder` is a new one that any user may enter; it is removed in the end."""

    def __init__(self, folder, scale):
        self.folder, self.scale = Path(folder), scale
        self.measure, self.probe = OUT / "measure", OUT / "served.so"
        self.checks = {}  # row: what the first run of it printed as its check
        self.taking = {}  # (command, library): what to preload, and why it does nothing or None

    def count(self, full):
        return str(max(1, round(full * self.scale)))

    def file(self, name):
        return self.folder / name


def compiled(name, sources, *how):
    """Into BUILD/suite, unless that was done since any source of the suite was changed."""
    target = OUT / name
    every = [*(HERE / "patterns").iterdir(), *HERE.glob("*.c"), *(ROOT / "bench").glob("common.*"), Path(__file__)]
    if not target.exists() or target.stat().st_mtime <= max(path.stat().st_mtime for path in every):
        compile_program(target, sources, *how)
    return target


def build():
    """The programs of the suite."""
    patterns = HERE / "patterns"
    # Without the builtins the compiler cannot reason a malloc-free pair away.
    c = ["-std=gnu11", "-O2", "-fno-builtin", "-Wall", "-Wextra", "-I", str(ROOT / "bench")]
    system = ["-lm", "-ldl", "-lpthread"]
    common = [ROOT / "bench/common.c", patterns / "suite.c"]
    sources = sorted(p for p in patterns.glob("*.c") if p.name != "suite.c")
    compiled("patterns", [*sources, *common], c, system)
    objects = [compiled(source.stem + ".o", [source], [*c, "-c"]) for source in common]
    compiled("objects", [patterns / "objects.cpp", *objects],
             ["-std=c++17", "-O2", "-Wall", "-Wextra", "-I", str(ROOT / "bench")], system, "CXX")
    compiled("measure", [HERE / "measure.c"], ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-static"])
    compiled("served.so", [HERE / "served.c"], ["-std=gnu11", "-O2", "-Wall", "-shared", "-fPIC"], ["-ldl"])


def environment(more):
    """The same for all: nothing that tunes an allocator, no language."""
    env = worker.environment(False)
    for name in [n for n in env if n.startswith(("MIMALLOC_", "MALLOC_", "TCMALLOC_", "SNMALLOC_", "RPMALLOC_"))]:
        del env[name]
    return {**env, "LC_ALL": "C.UTF-8", **more}


def kill(process):
    """With all that it started: it has a session of its own."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def start(ctx, library, command, env=None, user=None, **streams):
    """The command below `measure`, in a session of its own."""
    result = ctx.file("usage")
    result.unlink(missing_ok=True)
    if user is not None:
        result.touch()
        os.chown(result, user, -1)
    argv = [str(part) for part in (ctx.measure, result, library or "-", *command)]
    more = {"user": user, "group": user, "extra_groups": []} if user is not None else {}
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **streams}
    return subprocess.Popen(argv, env=environment({**needs(library), **(env or {})}), start_new_session=True, cwd=ctx.folder, **streams, **more)


def usage(ctx):
    """What `measure` wrote when the command had ended."""
    try:
        words = ctx.file("usage").read_text(encoding="ascii").split()
        status, wall, user, system, peak, faults = words
    except (OSError, ValueError):
        raise Failed("nothing was measured") from None
    return int(status), {"wall_s": float(wall), "user_s": float(user), "system_s": float(system), "peak_kib": int(peak),
                         "faults": int(faults)}


def why(status, errors):
    lines = [line for line in errors.strip().splitlines() if not line.startswith("==")]  # but for valgrind's
    last = (lines or ["no message"])[-1]
    cause = f"exit status {status}" if status >= 0 else f"killed by signal {-status}"
    return f"{cause}: {last[-200:]}"


def execute(ctx, library, command, env=None, stdin=None, timeout=TIMEOUT):
    """(figures, what it printed)"""
    with open(stdin or os.devnull, "rb") as source, open(ctx.file("out"), "wb") as out, open(ctx.file("err"), "wb") as err:
        process = start(ctx, library, command, env, stdin=source, stdout=out, stderr=err)
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise Failed(f"no end after {timeout} s") from None
        finally:
            if process.returncode is None:
                kill(process)
    errors = ctx.file("err").read_text(encoding="utf-8", errors="replace")
    if status != 0:
        raise Failed(why(status, errors))
    status, figures = usage(ctx)
    if status != 0:
        raise Failed(why(status, errors))
    return figures, ctx.file("out").read_text(encoding="utf-8", errors="replace")


def same(ctx, row, check):
    """Results must not depend on the allocator."""
    first = ctx.checks.setdefault(row, check)
    if check != first:
        raise Failed(f"its result differs from that of the first allocator ({check}, not {first})")


def pattern(ctx, row, library, idle=False):
    """(figures, [(size, ns of malloc, ns of free)])"""
    env = {"SUITE_IDLE": str(IDLE)} if idle else None
    figures, text = execute(ctx, library, [OUT / row.program, row.pattern, row.threads, ctx.scale], env)
    lines = [line.split() for line in text.splitlines()]
    values = {line[0]: line[1] for line in lines if len(line) == 2}
    served = [line[2] for line in lines if line[:2] == ["#", "malloc"]]
    if not served_by(served[0] if served else "", library):
        raise Failed("the preload did not take")
    if "check" not in values or "ops" not in values:
        raise Failed("it ended before it was done")
    same(ctx, row.name, values["check"])
    figures.update(final_kib=int(values["resident"]), ops=int(values["ops"]))
    if int(values["live"]):
        figures["live_bytes"] = int(values["live"])
    if idle:
        figures["wall_s"] -= IDLE
        figures["settled_kib"] = int(values["settled"])
    return figures, [(int(w[1]), float(w[2]), float(w[3])) for w in lines if w and w[0] == "run"]


def system_library():
    """The C library of this process, as a file."""
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        if "/libc.so.6" in line:
            return line.split()[-1]
    raise Failed("no libc.so.6 to preload")


def servers(ctx, library, command):
    """Which libraries serve malloc in a program and what it starts, with this one preloaded."""
    told = ctx.file("served")
    told.unlink(missing_ok=True)
    execute(ctx, f"{ctx.probe}:{library or ''}".rstrip(":"), command, {"SUITE_SERVED": str(told)})
    return told.read_text(encoding="utf-8").split("\n")[:-1] if told.exists() else [""]


def taking(ctx, library, command):
    """
    What to preload so that this library serves the program. Where a program is linked to another allocator, the C library's own has to be
    preloaded, too. Fails where preloading does nothing: the program has a malloc of its own, or lets nothing in.
    """
    key = (tuple(map(str, command)), library)
    if key not in ctx.taking:
        if library is None and not all("/libc.so" in path for path in servers(ctx, None, command)):
            library = system_library()
        wrong = [path for path in servers(ctx, library, command) if not served_by(path, library)] if library else []
        ctx.taking[key] = (library, f"the preload did not take (malloc is served by {wrong[0] or 'nothing known'})" if wrong else None)
    library, trouble = ctx.taking[key]
    if trouble:
        raise Failed(trouble)
    return library


def copy_for_all(ctx, path):
    """A copy that another user may read and run, or `path` if that is None. Its name stays: needs() goes by that."""
    if path is None or Path(path).is_relative_to(ctx.folder):
        return path
    folder = ctx.file(hashlib.sha256(os.fsencode(path)).hexdigest()[:16])
    target = folder / Path(path).name
    if not target.exists():
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
        shutil.copy(path, target)
        target.chmod(0o755)
    return str(target)
