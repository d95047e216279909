# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The wheel carries the library and the command: CMake builds them from the tree that this folder lies in."""
import os
import shutil
import subprocess
import sysconfig

from setuptools import setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.normpath(os.path.join(HERE, "..", ".."))
BUILD = os.environ.get("DRYSTONE_BUILD")  # a build folder that is there already
FILES = {"bin": ["drystone"],
         "lib": ["libdrystone.so", "libdrystone-tiny-malloc.so", "libdrystone-sequential-malloc.so"]}


def version():
    return subprocess.run([TREE + "/scripts/amalgam", "--version"], check=True, capture_output=True, text=True).stdout.strip()


class BuildWithNative(build_py):
    def run(self):
        super().run()
        build = BUILD or os.path.abspath("build/native")
        if not BUILD:
            subprocess.run(["cmake", "-S", TREE, "-B", build, "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DDRYSTONE_TESTS=OFF",
                            "-DDRYSTONE_EXPERIMENTS=OFF"], check=True)
            subprocess.run(["cmake", "--build", build, "-j", str(os.cpu_count() or 1), "--target", "drystone_cli",
                            "drystone_shared", "drystone_tiny_malloc", "drystone_sequential_malloc"], check=True)
        for folder, names in FILES.items():
            target = os.path.join(self.build_lib, "drystone", "_native", folder)
            os.makedirs(target, exist_ok=True)
            for name in names:
                shutil.copy(os.path.join(build, name), target)
                if folder == "lib":  # what debuggers want to know is much of it
                    subprocess.run(["strip", "--strip-debug", os.path.join(target, name)], check=True)


class AnyPython(bdist_wheel):
    """For each Python 3, on this system's kind of machine."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", sysconfig.get_platform().replace("-", "_").replace(".", "_")


setup(version=version(), packages=["drystone"], cmdclass={"build_py": BuildWithNative, "bdist_wheel": AnyPython})
