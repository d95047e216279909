#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# test_freestanding.sh: the small-machine allocators compile with the headers alone that a compiler brings along, as where there is
# no C library to declare anything.
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
for source in $sources; do
	"$cc" -std=c11 -ffreestanding -nostdinc -isystem "$("$cc" -print-file-name=include)" -Wall -Wextra -Wpedantic -Werror \
		-I "$root/src/tiny/bare" -I "$root/src" -I "$root/include" -c "$source" -o "$out/object.o" || {
		echo "FAILED: $source"
		exit 1
	}
done
