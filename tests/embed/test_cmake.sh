#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# drystone as part of another CMake project, from an archive by FetchContent and by add_subdirectory.
. "$(dirname "$0")/common.inc"
configure() { # configure NAME OPTION...: build type None is without optimisation: quick to build
	name=$1
	shift
	cmake -G Ninja -S "$here/cmake" -B "$work/$name" -DPROGRAM="$here/program.c" -DCMAKE_BUILD_TYPE=None -Wno-dev "$@" \
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
configure add -DHOW=add -DDRYSTONE_SOURCE="$root" -DDRYSTONE_OVERRIDE=ON -DLINK=static \
	"-DPARENT_OPTIONS=-Wall;-Wextra;-Wconversion;-Wsign-conversion;-Wcast-qual;-Wundef;-pedantic-errors;-Werror" \
	-DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON -DPARENT_FLAGS=-flto
build add all
"$work/add/program-static" override >"$work/log" 2>&1 || fail "added, static"
[ -z "$(find "$work/add" -name 'libdrystone*.so*' -o -name 'libdrystone-*.a')" ] || fail "built what nobody links"
echo "ok: add_subdirectory, drystone::static with override, link-time optimisation"
