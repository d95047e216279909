#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# The commands of gdb, on a live process and on a core file; the library without its debug information.
# DRY_TEST_NO_NORSEQ
. "$(dirname "$0")/common.inc"
need gdb cc strip python3
strip -g -o "$work/libdrystone.so" "$lib"
soname=$(readelf -d "$lib" | sed -n 's/.*SONAME.*\[\(.*\)\]$/\1/p') && ln -s libdrystone.so "$work/$soname" 2>/dev/null
cc -O1 -g -fno-builtin -DTYPED -I "$top/include" "$here/debugged.c" -o "$work/debugged" "$work/libdrystone.so" -Wl,-rpath,"$work" ||
	{ fail "debugged.c does not compile"; finish; }
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
		grep -q 'is nobody' "$1" && grep -Eq '^kmalloc-112 +main +[1-9]' "$1" &&
		grep -Eq '^r\?\[31m_\? +main ' "$1"; } || fail "$2: $(cat "$1")"
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
gdb -nx -batch -ex "source $top/contrib/drystone-gdb.py" "$work/debugged" -ex 'drystone whatis "text"' -ex 'drystone whatis nonsense' \
	>"$work/out" 2>&1
{ grep -q '^Cannot convert value to long' "$work/out" && grep -q '^No symbol "nonsense"' "$work/out" && ! grep -q Python "$work/out"; } ||
	fail "no address: $(cat "$work/out")"
# guarded blocks
gdb -nx -batch -ex "source $top/contrib/drystone-gdb.py" -ex "set environment LD_PRELOAD $work/libdrystone.so" \
	-ex 'set environment DRYSTONE_CONF secure:1' -ex 'set startup-with-shell off' -ex 'set environment DEBUGINFOD_URLS' \
	-ex 'break stop_here' -ex run -ex 'drystone whatis extent+7' -ex 'drystone whatis extent-1' "$work/debugged" >"$work/out" 2>&1
{ grep -q 'heap main: [0-9]* bytes into the 5[0-9]* bytes of pages of a guarded block at 0x[0-9a-f]*, handed out$' "$work/out" &&
	! grep -q 'nobody' "$work/out"; } || fail "guarded blocks: $(cat "$work/out")"
# what was freed under secure:1 waits in a pool
gdb -nx -batch -ex "source $top/contrib/drystone-gdb.py" -ex "set environment LD_PRELOAD $work/libdrystone.so" \
	-ex 'set environment DRYSTONE_CONF secure:1' -ex 'set startup-with-shell off' -ex 'set environment DEBUGINFOD_URLS' \
	-ex 'break stop_here' -ex run -ex 'drystone whatis last' -ex 'drystone whatis gone' "$work/debugged" >"$work/out" 2>&1
{ [ "$(grep -c '^  0 bytes into 304 bytes' "$work/out")" = 2 ] &&
	grep -Eq '^  0 bytes into 304 bytes at 0x[0-9a-f]+: free, in a (shared|local) array$' "$work/out" &&
	grep -Eq '^  0 bytes into 304 bytes at 0x[0-9a-f]+: handed out$' "$work/out"; } || fail "secure:1: $(cat "$work/out")"
# printed FILE WHAT: the pointers, as the printers have them
printed() {
	{ grep -Eq '^typed=0x[0-9a-f]+ \(cache letters of heap main: 100 of [1-9][0-9]* objects of 304 bytes in use, [1-9][0-9]* slabs\)$' "$1" &&
		grep -Eq '^heap=0x[0-9a-f]+ \(heap main: [1-9][0-9]* caches, [1-9][0-9]* bytes in slabs\)$' "$1" &&
		grep -Eq "^wrong=0x[0-9a-f]+ \(no cache of drystone's\)$" "$1" && grep -q "^far=0x10 (no cache of drystone's)$" "$1" &&
		grep -q '^nothing=0x0$' "$1" && grep -Eq '^plain=\(dry_cache \*\) 0x[0-9a-f]+$' "$1"; } || fail "printers, $2: $(cat "$1")"
}
print() { # print TYPED HEAP WRONG ARGUMENT...
	typed="typed:(dry_cache*)$1" heap="heap:(dry_heap*)$2" wrong="wrong:(dry_cache*)$3"
	shift 3
	set -- "$@" -ex "source $top/contrib/drystone-gdb.py"
	for each in "$typed" "$heap" "$wrong" 'far:(dry_cache*)16' 'nothing:(dry_cache*)0'; do
		set -- "$@" -ex "echo ${each%%:*}=" -ex "output ${each#*:}" -ex 'echo \n'
	done
	gdb -nx -batch "$@" -ex 'disable pretty-printer global drystone' -ex 'echo plain=' -ex "output ${typed#*:}" -ex 'echo \n' 2>&1
}
print typed heap live "$work/debugged" -ex 'set startup-with-shell off' -ex 'set environment DEBUGINFOD_URLS' -ex 'break stop_here' -ex run >"$work/out"
printed "$work/out" "live process"
gdb -nx -batch -ex "source $top/contrib/drystone-gdb.py" "$work/debugged" -ex 'output typed' >"$work/out" 2>&1
grep -q '^0x0$' "$work/out" || fail "a program that does not run: $(cat "$work/out")"
# a slab by its descriptor, with the library's own debug information
if readelf -S "$lib" | grep -q '\.debug_info'; then
	LD_PRELOAD=$lib gdb -nx -batch "$work/debugged" -ex 'set startup-with-shell off' -ex 'set environment DEBUGINFOD_URLS' \
		-ex "set environment LD_PRELOAD $lib" -ex 'set breakpoint pending on' -ex 'break dry_slab_take' -ex run -ex "source $top/contrib/drystone-gdb.py" -ex 'echo slab=' \
		-ex 'output slab' >"$work/out" 2>&1
	grep -Eq '^slab=0x[0-9a-f]+ \(slab at 0x[0-9a-f]+000, cache [^ ]+: [0-9]+ of [0-9]+ objects are out of it\)' "$work/out" || fail "slab: $(tail -n 3 "$work/out")"
fi

LD_PRELOAD=$work/libdrystone.so "$work/debugged" wait >"$work/said" &
child=$!
children=$child
for _ in $(seq 500); do [ -s "$work/said" ] && break || sleep 0.02; done
kill -STOP "$child"
python3 "$here/make_core.py" "$child" "$work/core" || fail "no core file was made"
kill -9 "$child"
{ read -r live freed run extent; read -r typed heap; } <"$work/said"
ask "$live" "$freed" "$run" "$extent" "$extent+12345" "$work/debugged" "$work/core" >"$work/out"
judge "$work/out" "core file"
print "$typed" "$heap" "$live" "$work/debugged" "$work/core" >"$work/out"
printed "$work/out" "core file"
rm -f "$work/core"
gdb -nx -batch -ex "source $top/contrib/drystone-gdb.py" -ex 'drystone caches' /bin/true >"$work/out" 2>&1
grep -q 'does not run on drystone' "$work/out" || fail "a program without: $(cat "$work/out")"
finish
