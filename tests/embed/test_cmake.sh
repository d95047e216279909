#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# drystone as part of another CMake project, from an archive by FetchContent and by add_subdirectory; one that is itself installed.
. "$(dirname "$0")/common.inc"
configure() { # configure NAME OPTION...: build type None is without optimisation: quick to build
	name=$1
	shift
	cmake -G "${GENERATOR:-Ninja}" -S "$here/cmake" -B "$work/$name" -DPROGRAM="$here/program.c" -DCMAKE_BUILD_TYPE=None -Wno-dev "$@" \
		>"$work/log" 2>&1 || fail "configuring $name"
}
build() { # build NAME TARGET...
	name=$1
	shift
	cmake --build "$work/$name" -j 2 --target "$@" >"$work/log" 2>&1 || fail "building $name"
}

tar -C "$root" --exclude=./build --exclude=./.git -cf "$work/drystone-0.tar" .
configure fetch -DHOW=fetch -DDRYSTONE_ARCHIVE="$work/drystone-0.tar" -DLINK="drystone;static;noverride-static"
build fetch all
for target in drystone static noverride-static; do
	"$work/fetch/program-$target" library >"$work/log" 2>&1 || fail "fetched, $target"
	echo "ok: FetchContent, drystone::$target"
done

# With the override, in a project that is optimised at link time and wants more of its own code than ours gives; and nothing
# is built that nobody links.
configure add -DHOW=add -DDRYSTONE_SOURCE="$root" -DDRYSTONE_OVERRIDE=ON -DLINK=static -DCMAKE_UNITY_BUILD=ON \
	"-DPARENT_OPTIONS=-Wall;-Wextra;-Wconversion;-Wsign-conversion;-Wcast-qual;-Wundef;-pedantic-errors;-Werror" \
	-DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON -DPARENT_FLAGS=-flto
build add all
"$work/add/program-static" override >"$work/log" 2>&1 || fail "added, static"
[ -z "$(find "$work/add" -name 'libdrystone*.so*' -o -name 'libdrystone-*.a')" ] || fail "built what nobody links"
echo "ok: add_subdirectory, drystone::static with override, link-time optimisation, unity"

# A project that exports a library which links drystone needs DRYSTONE_INSTALL; who uses that library finds both. By make,
# CMake's default, which builds an object in its own target only.
printf '#include <drystone/drystone.h>\nvoid *parent_new(void);\nvoid *parent_new(void) { return dry_alloc(NULL, 100); }\n' >"$work/parent.c"
export="-DHOW=add -DDRYSTONE_SOURCE=$root -DPARENT_EXPORTS=$work/parent.c"
# shellcheck disable=SC2086 # options are words
! cmake -G Ninja -S "$here/cmake" -B "$work/refused" -DCMAKE_BUILD_TYPE=None -Wno-dev $export >"$work/log" 2>&1 ||
	fail "exported without DRYSTONE_INSTALL"
grep -q 'requires target "drystone_static" that is not in any export set' "$work/log" || fail "refused for another reason"
# shellcheck disable=SC2086
GENERATOR="Unix Makefiles" configure export $export -DDRYSTONE_INSTALL=ON -DLINK="static;noverride"
build export all
[ -z "$(find "$work/export" -path '*/posix/*' -name 'libdrystone*')" ] || fail "built the second port, which is for our own tests"
for target in static noverride; do
	"$work/export/program-$target" library >"$work/log" 2>&1 || fail "made, $target"
done
echo "ok: add_subdirectory, by make"
cmake --install "$work/export" --prefix "$work/prefix" >"$work/log" 2>&1 || fail "installing export"
cat >"$work/user.c" <<'EOF'
#include <drystone/drystone.h>
void *parent_new(void);
int main(void)
{
	void *block = parent_new();
	int good = block != NULL && dry_usable_size(NULL, block) >= 100;

	dry_free(NULL, block);
	return good ? 0 : 1;
}
EOF
mkdir "$work/user"
cat >"$work/user/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES C)
find_package(parent REQUIRED)
add_executable(user ../user.c)
target_link_libraries(user PRIVATE parent::parent)
foreach(name drystone static noverride noverride-static)
	add_executable(program-${name} ${PROGRAM})
	target_link_libraries(program-${name} PRIVATE drystone::${name})
endforeach()
EOF
cmake -G Ninja -S "$work/user" -B "$work/user/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DPROGRAM="$here/program.c" >"$work/log" 2>&1 || fail "find_package(parent)"
build user/build all
"$work/user/build/user" || fail "the program that uses parent"
echo "ok: install(EXPORT) of a library that links drystone::static"

# All names are there where the library was built without malloc, for CMake and for pkg-config.
for name in drystone static noverride noverride-static; do
	"$work/user/build/program-$name" library >"$work/log" 2>&1 || fail "installed without override, drystone::$name"
done
PKG_CONFIG_PATH=$(find "$work/prefix" -name pkgconfig)
export PKG_CONFIG_PATH
for name in drystone drystone-static drystone-noverride drystone-noverride-static; do
	# shellcheck disable=SC2046 # flags are words
	"${CC:-cc}" "$here/program.c" -o "$work/program" $(pkg-config --cflags --libs $name) \
		-Wl,-rpath,"$(pkg-config --variable=libdir $name)" >"$work/log" 2>&1 || fail "pkg-config, $name"
	"$work/program" library >"$work/log" 2>&1 || fail "installed without override, $name"
done
echo "ok: installed without override, by each name"
