#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# The commands of gdb, on a live process and on a core file; the library without its debug information.
# DRY_TEST_NO_NORSEQ
. "$(dirname "$0")/common.inc"
need gdb cc strip python3
cc -O1 -g -fno-builtin "$here/debugged.c" -o "$work/debugged" || { fail "debugged.c does not compile"; finish; }
strip -g -o "$work/libdrystone.so" "$lib"
gdb -nx -batch -ex 'python print("python")' 2>/dev/null | grep -q python || skip "gdb without python"
# The members in the script are those of the header, in their order.
python3 - "$top" <<'EOF' || fail "members are not those of inspect.h"
import re, sys
header = open(sys.argv[1] + "/include/drystone/inspect.h", encoding="utf-8").read()
script = open(sys.argv[1] + "/contrib/drystone-gdb.py", encoding="utf-8").read()
body = re.sub(r"/\*.*?\*/", "", re.search(r"struct dry_inspect \{\n(.*?)\n\};", header, re.S).group(1), flags=re.S)
wanted = [re.sub(r"[\s*]|\[.*", "", name) for line in body.split(";") for name in re.sub(r"^\s*(const )?(struct )?\w+ ", "", line.strip()).split(",")]
wanted = [name for name in wanted if name and name not in ("magic", "reserved")]
members = re.search(r"MEMBERS = \((.*?)\n\)", script, re.S).group(1)
mine = [name for part in re.findall(r'"([^"]*)"', members) for name in part.split() if len(part) > 1 and not re.match("reserved_[abc]$", name)]
assert mine == wanted, [pair for pair in zip(mine, wanted) if pair[0] != pair[1]][:3]
assert "VERSION = " + re.search(r"DRY_INSPECT_VERSION (\d+)u", header).group(1) in script
EOF

# judge FILE WHAT: the answers about live, freed, run, extent, middle, a live one's inside, main, then the caches
judge() {
	{ grep -q 'heap main: cache kmalloc-112, slab at 0x[0-9a-f]*, object [0-9]* of ' "$1" &&
		grep -q '  0 bytes into 112 bytes at 0x[0-9a-f]*: handed out$' "$1" &&
		grep -q '  0 bytes into 112 bytes at 0x[0-9a-f]*: free, in the array cache of slot [0-9]*$' "$1" &&
		grep -q '  7 bytes into 112 bytes at 0x[0-9a-f]*: handed out$' "$1" &&
		grep -q 'heap main: 0 bytes into a block of 102400 bytes, page run at' "$1" &&
		grep -q 'heap main: 0 bytes into a block of 5[0-9]* bytes, an extent at' "$1" &&
		grep -q 'heap main: 12345 bytes into a block of 5[0-9]* bytes, an extent at' "$1" &&
		grep -q 'is nobody' "$1" && grep -Eq '^kmalloc-112 +main +[1-9]' "$1"; } || fail "$2: $(cat "$1")"
}
ask() { # ask ADDRESS-OF-LIVE FREED RUN EXTENT MIDDLE ARGUMENT...
	addresses="$1 $2 $3 $4 $5 $1+7 16"
	shift 5
	set -- "$@" -ex "source $top/contrib/drystone-gdb.py"
	for address in $addresses; do set -- "$@" -ex "drystone whatis $address"; done
	gdb -nx -batch "$@" -ex 'drystone caches' -ex 'drystone caches kmalloc-112' 2>&1
}
ask live freed run extent middle "$work/debugged" -ex "set environment LD_PRELOAD $work/libdrystone.so" \
	-ex 'set startup-with-shell off' -ex 'set environment DEBUGINFOD_URLS' -ex 'break stop_here' -ex run >"$work/out"
judge "$work/out" "live process"
[ "$(grep -c '^kmalloc-112 ' "$work/out")" = 2 ] || fail "caches PATTERN"

LD_PRELOAD=$work/libdrystone.so "$work/debugged" wait >"$work/said" &
child=$!
children=$child
for _ in $(seq 500); do [ -s "$work/said" ] && break || sleep 0.02; done
kill -STOP "$child"
python3 "$here/make_core.py" "$child" "$work/core" || fail "no core file was made"
kill -9 "$child"
read -r live freed run extent <"$work/said"
ask "$live" "$freed" "$run" "$extent" "$extent+12345" "$work/debugged" "$work/core" >"$work/out"
judge "$work/out" "core file"
rm -f "$work/core"
gdb -nx -batch -ex "source $top/contrib/drystone-gdb.py" -ex 'drystone caches' /bin/true >"$work/out" 2>&1
grep -q 'does not run on drystone' "$work/out" || fail "a program without: $(cat "$work/out")"
finish
