#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# test_freestanding.sh: the small-machine allocators compile with the headers alone that a compiler brings along, as where there is
# no C library to declare anything; and slabs of a number of pages that the map cannot number do not compile.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
cc=${CC:-cc}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

sources=$(cd "$root/scripts" && python3 -B -c '
import targets
for allocator in targets.allocators():
    for part in ("", "-check"):
        print(*targets.sources(allocator, part), sep="\n")
' | sort -u)
[ -n "$sources" ]
compile() { # compile SOURCE [OPTION]
	"$cc" -std=c11 -ffreestanding -nostdinc -isystem "$("$cc" -print-file-name=include)" -Wall -Wextra -Wpedantic -Werror \
		-I "$root/src/tiny/bare" -I "$root/src" -I "$root/include" -o "$out/object.o" -c "$@"
}
for source in $sources; do
	compile "$source" || {
		echo "FAILED: $source"
		exit 1
	}
done
for pages in 1 48 1024; do
	if compile "$root/src/tiny/slab.c" -DDRY_TINY_SLAB_PAGES=$pages 2>"$out/log" || ! grep -q "the map can number" "$out/log"; then
		echo "FAILED: slabs of $pages pages"
		exit 1
	fi
done
