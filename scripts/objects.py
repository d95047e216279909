# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Objects of a build, their symbols, and verdicts on them. For scripts/check-symbols, check-circles and check-core."""
import json
import os
import re
import subprocess

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
ASKED = ("U", "w", "v")  # a symbol's kind, if the object has it not: w and v if it does without, too


class Verdicts:
    """Lines "ok: topic: what" and "FAILED: topic: what", as scripts/check counts them."""

    def __init__(self, topic):
        self.topic, self.failed = topic, 0

    def __call__(self, good, what, details=()):
        self.failed += not good
        print("%s: %s: %s%s" % ("ok" if good else "FAILED", self.topic, what, "".join("\n    " + d for d in details)), flush=True)


def enter(build):
    """Makes the project's folder the current one; the build folder from there."""
    build = os.path.abspath(build)
    os.chdir(ROOT)
    return os.path.relpath(build) if build.startswith(ROOT) else build


def made(build, *targets):
    """{object: its source} of what a build makes now of CMake's targets; the folder may hold some of files that are gone."""
    with open(build + "/compile_commands.json", encoding="utf-8") as file:
        commands = json.load(file)
    found = {}
    for entry in commands:
        path = re.search(r" -o (\S+\.o) ", entry["command"]).group(1)
        if re.search(r"(?:^|/)CMakeFiles/([^/]+)\.dir/", path).group(1) in targets:
            found[os.path.join(build, path)] = os.path.relpath(entry["file"])
    return found


def bring(build, *targets):
    """Builds targets; what went wrong, or None."""
    jobs = ["-j", os.environ["JOBS"]] if os.environ.get("JOBS") else []
    done = subprocess.run(["cmake", "--build", build, *jobs, "--target", *targets], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout[-4000:] if done.returncode else None


def nm(files, *options):
    out = subprocess.run(["nm", "-P", *options, *files], capture_output=True, text=True, check=True).stdout
    return [line.split() for line in out.split("\n") if line and not line.endswith(":")]


def nm_each(files):
    """{file: its symbols}, of one nm for all: a process for each takes ten times as long."""
    files, found = list(files), {}
    if not files:
        return found
    out = subprocess.run(["nm", "-P", "-A", *files], capture_output=True, text=True, check=True).stdout
    found = {path: [] for path in files}
    for line in out.split("\n"):
        path, _, symbol = line.partition(": ")
        if symbol:
            found[path].append(symbol.split())
    return found


def is_global(kind):
    return kind.isupper() and kind not in ASKED


def asked(files):
    """What objects ask for and do not have themselves."""
    symbols = nm(files)
    return {fields[0] for fields in symbols if fields[1] in ASKED} - {fields[0] for fields in symbols if is_global(fields[1])}


def read_list(path):
    with open(path, encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip() and not line.startswith("#")]
