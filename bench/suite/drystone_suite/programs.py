# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Real programs. What one of them needs and is not installed is said, and the program is left out."""
import glob
import hashlib
import os
import pwd
import shutil
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path

from allocators import ROOT
from .measure import Failed, copy_for_all, environment, execute, kill, same, start, taking, usage

INPUTS = ROOT / "bench/suite/programs"
SQL = ROOT / "scripts/demo.d/tables.sql"

# find: (command, ...) or None; needs: what to say if it is None; run(ctx, name, library, found): figures
Program = namedtuple("Program", "name find needs run what")


def tools(*names):
    found = tuple(shutil.which(name) for name in names)
    return found if all(found) else None


def output(ctx, name, text):
    """What is resident at the end, if the program says so; the rest must be the same under every allocator."""
    lines = text.splitlines()
    resident = [line.split()[1] for line in lines if line.startswith("resident ")]
    rest = "\n".join(line for line in lines if not line.startswith("resident "))
    same(ctx, name, hashlib.sha256(rest.encode()).hexdigest()[:16])
    return {"final_kib": int(resident[0])} if resident else {}


def plain(version, arguments, env=None, stdin=None):
    """Of a program that reads, computes, prints and ends. arguments(ctx): what follows its name."""
    def run(ctx, name, library, found):
        library = taking(ctx, library, [found[0], version])
        figures, text = execute(ctx, library, [found[0], *arguments(ctx)], env, stdin(ctx) if stdin else None)
        figures.update(output(ctx, name, text))
        return figures
    return run


def python_found():
    # Not a shell script that starts one: where versions of python are managed, there is one in PATH.
    return (os.path.realpath(sys.executable),)


def lua_found():
    return tools("lua5.4") or tools("lua")


def made(ctx, name, text):
    """A file that is made once, from what text() gives."""
    path = ctx.file(name)
    if not path.exists():
        path.write_text(text(), encoding="utf-8")
    return path


def sql(ctx):
    rows = ctx.count(150000)
    return made(ctx, "tables.sql", lambda: SQL.read_text(encoding="utf-8").replace("i < 300000", "i < " + rows))


def compiler_arguments(ctx):
    return ["-std=c++17", "-O1", "-DCOUNT=" + ctx.count(5), "-S", INPUTS / "work.cpp", "-o", "-"]


def rust_found():
    """Not rustup's: that one brings an allocator of its own, linked in."""
    return tuple(path for path in ["/usr/bin/rustc"] if os.access(path, os.X_OK)) or None


def rust_arguments(ctx):
    def text():
        types = " ".join("S%d" % i for i in range(int(ctx.count(6))))
        return "%s\nshapes! { %s }\n" % ((INPUTS / "work.rs").read_text(encoding="utf-8"), types)
    return ["--crate-type", "lib", "--emit=obj", "-o", ctx.file("work.o"), made(ctx, "work.rs", text)]


def zstd_arguments(ctx):
    count = int(ctx.count(1200000))
    path = made(ctx, "numbers", lambda: "".join("%d %x\n" % (i, i * 2654435761 % 4294967296) for i in range(count)))
    return ["-T2", "-q", "-9", "-o", ctx.file("numbers.zst"), "-f", path]


# ---- servers: the client is not measured, but how long it takes is ----------------------------

def memory(pid):
    """KiB of a process and all below it; shared pages count in part."""
    total = 0
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                total = int(line.split()[1])
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return total
    return total + sum(memory(child) for child in children)


def client(command, **more):
    try:
        done = subprocess.run([str(part) for part in command], env=environment({}), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300, check=False, **more)
    except subprocess.TimeoutExpired:
        raise Failed(f"{command[0]}: no end after 300 s") from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise Failed(f"{Path(command[0]).name}: exit status {done.returncode}: {last}")
    return done.stdout


def serve(ctx, library, server, ready, work, stop, **more):
    """ready(): it answers; work(): what is timed; stop(): asks it to end."""
    process = start(ctx, library, server, **more)
    try:
        for _ in range(400):
            if ready():
                break
            if process.poll() is not None:
                raise Failed(f"{Path(server[0]).name} ended at once")
            time.sleep(0.025)
        else:
            raise Failed(f"{Path(server[0]).name} does not answer")
        begin = time.monotonic()
        work()
        seconds = time.monotonic() - begin
        final = memory(process.pid)
        stop()
        process.wait(60)
    except subprocess.TimeoutExpired:
        raise Failed(f"{Path(server[0]).name} does not end") from None
    finally:
        if process.returncode is None:
            kill(process)
    status, figures = usage(ctx)
    if status != 0:
        raise Failed(f"{Path(server[0]).name}: exit status {status}")
    figures.update(wall_s=seconds, final_kib=final)
    return figures


def redis(ctx, _, library, found):
    server, load, cli = found
    library = taking(ctx, library, [server, "--version"])
    socket = ctx.file("redis.sock")
    socket.unlink(missing_ok=True)
    command = [server, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", ctx.folder]
    operations = ["-q", "-n", ctx.count(150000), "-c", "20", "-P", "16", "-r", "100000", "-d", "100",
                  "-t", "set,get,incr,lpush,lpop,sadd,hset,zadd"]
    return serve(ctx, library, command, socket.exists, lambda: client([load, "-s", socket, *operations]),
                 lambda: client([cli, "-s", socket, "shutdown", "nosave"]))


def postgres_found():
    for folder in sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True) + [""]:
        found = tuple(shutil.which(name, path=folder or None) for name in ("postgres", "initdb", "pgbench", "pg_ctl"))
        if all(found):
            return tuple(map(os.path.realpath, found[:2])) + (found[2], os.path.realpath(found[3]))
    return None


def server_user():
    """Postgres does not run as root: its own user, or nobody."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_uid
        except KeyError:
            pass
    raise Failed("no user to run it as")


def postgres(ctx, _, library, found):
    server, initdb, load, control = found
    user, data = server_user(), ctx.file("postgres")
    # Another user may not enter the folder of the build.
    library = copy_for_all(ctx, library)
    ctx.measure, ctx.probe = copy_for_all(ctx, ctx.measure), copy_for_all(ctx, ctx.probe)
    library = taking(ctx, library, [server, "--version"])
    as_user = {} if user is None else {"user": user, "group": user, "extra_groups": []}
    sockets, filled = ctx.file("sockets"), ctx.file("postgres-filled")
    fresh = not filled.exists()
    # Every run begins with what was set up, not with what another has left.
    shutil.rmtree(data, ignore_errors=True)
    if fresh:
        for folder in (data, sockets):
            folder.mkdir(mode=0o700, exist_ok=True)
            if user is not None:
                os.chown(folder, user, user)
        client([initdb, "-D", data, "-A", "trust", "-N", "-U", "bench", "--locale=C", "-E", "UTF8"], cwd=data, **as_user)
    at = ["-h", sockets, "-U", "bench", "postgres"]

    def work():
        client([load, "-n", "-c", "4", "-j", "2", "-t", ctx.count(1500), *at])

    def setup():
        client([load, "-i", "-q", "-s", "2", *at])
    command = [server, "-D", data, "-k", sockets, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "autovacuum=off",
               "-c", "shared_buffers=64MB", "-c", "max_connections=20"]

    def ready():
        return subprocess.run([control, "status", "-D", str(data)], env=environment({}), stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False, cwd=data, **as_user).returncode == 0 and \
            (sockets / ".s.PGSQL.5432").exists() and "ready" in (data / "postmaster.pid").read_text(encoding="utf-8")

    def stop():
        client([control, "stop", "-D", data, "-m", "fast"], cwd=data, **as_user)
    if fresh:
        serve(ctx, None, command, ready, setup, stop, user=user)
        data.rename(filled)
    client(["cp", "-a", filled, data])
    return serve(ctx, library, command, ready, work, stop, user=user)


PROGRAMS = [
    Program("python3", python_found, "python3", plain("--version", lambda ctx: [INPUTS / "work.py", ctx.count(12000)],
            {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}), "python3 with PYTHONMALLOC=malloc: records, JSON, parsing, text"),
    Program("lua", lua_found, "lua5.4", plain("-v", lambda ctx: [INPUTS / "work.lua", ctx.count(150000)]),
            "lua: tables, strings, closures, trees"),
    Program("perl", lambda: tools("perl"), "perl", plain("-v", lambda ctx: [INPUTS / "work.pl", ctx.count(40000)]),
            "perl: hashes, lists, substitution"),
    Program("sqlite3", lambda: tools("sqlite3"), "sqlite3", plain("--version", lambda ctx: ["-batch", ":memory:"], stdin=sql),
            "sqlite3: a database in memory, filled, indexed, joined"),
    Program("redis", lambda: tools("redis-server", "redis-benchmark", "redis-cli"), "redis-server, redis-benchmark, redis-cli",
            redis, "redis-server under redis-benchmark; the client's time"),
    Program("gcc", lambda: tools("g++"), "g++", plain("--version", compiler_arguments), "g++ -O1 (cc1plus) on templates"),
    Program("node", lambda: tools("node"), "node", plain("--version", lambda ctx: [INPUTS / "work.js", ctx.count(40000)]),
            "node: buffers, compression, JSON"),
    Program("rustc", rust_found, "a rustc without an allocator of its own (/usr/bin/rustc, Debian's)",
            plain("--version", rust_arguments), "rustc on generic code"),
    Program("postgres", postgres_found, "postgres, initdb, pg_ctl, pgbench", postgres,
            "postgres under pgbench, 4 clients; the client's time"),
    Program("zstd", lambda: tools("zstd"), "zstd", plain("--version", zstd_arguments), "zstd -T2 -9"),
]
