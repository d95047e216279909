#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# drystone as a Meson subproject: static with the override; with ALL=1 also shared without it.
. "$(dirname "$0")/common.inc"
command -v meson >/dev/null || exit 77
cp -r "$here/meson" "$work/parent"
cp "$here/program.c" "$work/parent/"
mkdir "$work/parent/subprojects"
ln -s "$root" "$work/parent/subprojects/drystone"
for kind in static:override:true ${ALL:+shared:library:false}; do
	IFS=: read -r link expect override <<-END
		$kind
	END
	meson setup "$work/$link" "$work/parent" -Dexpect="$expect" -Ddefault_library="$link" -Ddebug=false \
		-Ddrystone:override="$override" >"$work/log" 2>&1 || fail "setting up $link"
	meson compile -C "$work/$link" -j 2 >"$work/log" 2>&1 || fail "building $link"
	meson test -C "$work/$link" >"$work/log" 2>&1 || fail "$link does not run as $expect"
	echo "ok: Meson subproject, $link, $expect"
done
