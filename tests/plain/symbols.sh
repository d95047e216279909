#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# symbols.sh PROGRAM: of drystone it has core and nothing else; core's there, or this would say nothing.
foreign=' dry_(arena|page|meta|extent|heap|debug|guard|malloc|general|stats|fatal|warn|format)'
symbols=$(nm "$1") || exit 1
if ! echo "$symbols" | grep -q ' T dry_alloc_slow$'; then
	echo "there is no core in $1" >&2
	exit 1
fi
if echo "$symbols" | sed 's/ [A-Za-z] / /' | grep -E "$foreign"; then
	echo "these are not core's" >&2
	exit 1
fi
# What is looked for is found.
echo "$symbols
0000000000401136 T dry_arena_alloc" | sed 's/ [A-Za-z] / /' | grep -qE "$foreign"
