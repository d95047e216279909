# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""An emulated machine under Debian's kernel that runs tests of a build: the kernel and busybox are downloaded, the tests and the C
library put into its first file system. For scripts/check-aarch64 and check-numa."""
import json
import re
import shlex
import shutil
import subprocess
import time
from pathlib import Path

from debian import Packages
from targets import ROOT, command

LIMIT = 1200                         # seconds for a test: one that traces itself takes minutes
COMMANDS = "sh mount mkdir env timeout cat poweroff cp cmp grep head sleep true"
START = time.monotonic()


def say(text):
    print("[%4d s] %s" % (time.monotonic() - START, text), flush=True)


def run(*arguments, **options):
    return command(arguments, **options)


class Machine:
    """build: whose tests; folder: for what is downloaded and booted; debian: the name of the architecture there."""
    def __init__(self, build, folder, debian, emulator, console):
        self.build, self.folder, self.debian, self.emulator, self.console = build, folder, debian, emulator, console
        folder.mkdir(parents=True, exist_ok=True)

    def kernel(self, package):
        """The image of the distribution's kernel, or of another package; and busybox."""
        folder = self.folder / "debs"
        if not list(folder.glob("busybox-static_*.deb")):
            say("download of the kernel, 60 to 100 MB")
            packages = Packages(run, folder, self.debian)
            image = re.search(r"Depends: (linux-image-\S+)", packages.depends("linux-image-" + self.debian)).group(1)
            packages.download(image, "busybox-static")
        base = self.folder / ("kernel-" + Path(package).stem if package else "kernel")
        if not base.exists():
            run("dpkg", "-x", package or next(folder.glob("linux-image-*.deb")), base)
            run("dpkg", "-x", next(folder.glob("busybox-static_*.deb")), self.folder / "busybox")
        return next(base.glob("boot/vmlinuz-*"))

    def chosen(self, pattern):
        listing = json.loads(run("ctest", "--test-dir", self.build, "--show-only=json-v1"))
        for test in listing["tests"]:
            properties = {p["name"]: p["value"] for p in test.get("properties", [])}
            if "command" in test and re.search(pattern, test["name"]):
                yield (test["name"], test["command"], properties.get("ENVIRONMENT", []),
                       properties.get("WORKING_DIRECTORY", str(self.build)))

    def first_file_system(self, tests, libraries):
        """busybox, the C library as libraries(folder) puts it, the tests at the paths that they have here, and what runs them."""
        root = self.folder / "root"
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        libraries(root)
        for folder in ("bin", "usr/bin", "proc", "sys", "dev", "tmp", "etc"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        shutil.copy2(self.folder / "busybox/bin/busybox", root / "bin")
        for name in COMMANDS.split():
            (root / "bin" / name).symlink_to("busybox")
        (root / "usr/bin/env").symlink_to("/bin/busybox")
        wanted = {path for folder in (self.build, self.build / "posix") for path in folder.glob("*.so*")} | {self.build / "drystone"}
        lines = ["#!/bin/sh", "export PATH=/bin DRY_TEST_MACHINE=1", "mount -t proc none /proc", "mount -t sysfs none /sys",
                 "mount -t devtmpfs none /dev", "mkdir -p /dev/shm", "mount -t tmpfs none /dev/shm",
                 "mkdir /told", "mount -t ramfs none /told", "cat /proc/version"]  # of no limit
        for name, arguments, environment, folder in tests:
            wanted |= {Path(path) for path in re.findall(re.escape(str(ROOT)) + r"[^\s:=,]*", " ".join(arguments + environment))}
            lines.append("mkdir -p {0} && cd {0} && env {1} timeout {2} {3} >/told/output 2>&1 </dev/null; s=$?; echo \"TEST {4} $s\"\n"
                         "[ $s = 0 ] || [ $s = 77 ] || cat /told/output".format(
                             shlex.quote(folder), shlex.join(environment), LIMIT, shlex.join(arguments), name))
        for path in filter(Path.is_file, wanted):
            place = root / path.relative_to("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, place)
        (root / "init").write_text("\n".join(lines + ["echo END", "poweroff -f"]) + "\n")
        (root / "init").chmod(0o755)
        run("sh", "-c", "find . | cpio -o -H newc --quiet | gzip -1 >../initrd", cwd=root)

    def boot(self, kernel, names, *hardware):
        """The results by test as they come; what failed says why."""
        arguments = [*self.emulator, *hardware, "-nographic", "-nic", "none", "-no-reboot", "-kernel", kernel, "-initrd",
                     self.folder / "initrd", "-append", "console=%s panic=-1 quiet" % self.console]
        results, explain = {}, True
        with subprocess.Popen([str(part) for part in arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                              errors="replace") as machine:
            for line in machine.stdout:
                told = re.search(r"TEST (\S+) (\d+)", line)
                if told:
                    name, status = told.group(1), int(told.group(2))
                    results[name], explain = status, status not in (0, 77)
                    say("%s %s (%d of %d)" % (name, {0: "passed", 77: "skipped"}.get(status, "FAILED"), len(results), len(names)))
                elif explain:
                    print(line.rstrip(), flush=True)
        return results
