#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# drystone as a Meson subproject: static with the override; with ALL=1 also shared, without it and with it.
. "$(dirname "$0")/common.inc"
command -v meson >/dev/null || exit 77
cp -r "$here/meson" "$work/parent"
cp "$here/program.c" "$work/parent/"
mkdir "$work/parent/subprojects"
ln -s "$root" "$work/parent/subprojects/drystone"
for kind in static:override:true ${ALL:+shared:library:false shared:override:true}; do
	IFS=: read -r link expect override <<-END
		$kind
	END
	rm -rf "${work:?}/$link"
	meson setup "$work/$link" "$work/parent" -Dexpect="$expect" -Ddefault_library="$link" -Ddebug=false \
		-Ddrystone:override="$override" >"$work/log" 2>&1 || fail "setting up $link"
	meson compile -C "$work/$link" -j 2 >"$work/log" 2>&1 || fail "building $link"
	meson test -C "$work/$link" >"$work/log" 2>&1 || fail "$link does not run as $expect"
	case $link:$expect in
	shared:override) # as libdrystone.so, it looks after libraries that are opened
		for test in deepbind cxx_plugin; do
			env LD_PRELOAD="$work/$link/subprojects/drystone/libdrystone.so" "$build/tests/malloc_$test" >"$work/log" 2>&1 ||
				fail "$link, $expect: malloc.$test: exit status $?"
		done
		;;
	esac
	echo "ok: Meson subproject, $link, $expect"
done
