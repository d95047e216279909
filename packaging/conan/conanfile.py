# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""conan create packaging/conan: the library from the tree that this file lies in."""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Drystone(ConanFile):
    name = "drystone"
    license = "MIT OR GPL-2.0-only"
    description = "Slab allocator: typed object caches and malloc"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "override": [True, False], "fPIC": [True, False]}
    default_options = {"shared": False, "override": False, "fPIC": True}
    package_type = "library"

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "../../include/drystone/drystone.h"))
        self.version = ".".join(re.findall(r"#define DRY_VERSION_(?:MAJOR|MINOR|PATCH) +(\d+)", header))

    def export_sources(self):
        tree = os.path.join(self.recipe_folder, "../..")
        for folder in ("cmake", "src", "include", "man", "completions", "contrib", "tools", "scripts", "LICENSES"):
            copy(self, folder + "/*", tree, self.export_sources_folder)
        copy(self, "CMakeLists.txt", tree, self.export_sources_folder)

    def validate(self):
        if self.settings.os != "Linux":
            from conan.errors import ConanInvalidConfiguration
            raise ConanInvalidConfiguration("drystone is for Linux; libdrystone-tiny has no recipe")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for name in ("TESTS", "TOOLS", "EXPERIMENTS"):
            toolchain.variables["DRYSTONE_" + name] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "drystone")
        self.cpp_info.set_property("cmake_target_name", "drystone::drystone")
        self.cpp_info.set_property("pkg_config_name", "drystone")
        name = "drystone" if self.options.override else "drystone-noverride"
        if self.options.shared:
            self.cpp_info.libs = [name]
        else:
            # Both kinds lie in the package, and a name would find the other one. As flags stand before the program's objects, where an
            # archive is not looked into, all of it is linked: it is one object.
            library = os.path.join(self.package_folder, "lib", "lib%s.a" % name)
            self.cpp_info.exelinkflags = self.cpp_info.sharedlinkflags = ["-Wl,--whole-archive", library, "-Wl,--no-whole-archive"]
        self.cpp_info.system_libs = ["pthread", "dl"]
