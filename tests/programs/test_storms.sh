#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# One storm of each kind over the programs of the demo; scripts/soak has them for as long as asked.
. "$(dirname "$0")/common.inc"
need python3 sqlite3
"$top/scripts/storms" --library "$lib" 0 >"$work/out" 2>&1 || fail "$(cat "$work/out")"
cat "$work/out"
finish
