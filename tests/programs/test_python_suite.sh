#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# python3's own tests of six modules that allocate heavily pass, as without drystone.
. "$(dirname "$0")/common.inc"
need python3
modules="test_dict test_list test_set test_json test_itertools test_collections"
python=$(python3 -c 'import sys; print(sys.executable)')
"$python" -c 'import test.test_dict, test.test_json' 2>/dev/null || skip "python3 has no test suite installed"
cd "$work" || exit 1
# run LABEL PRELOAD: the tests; the lines that tell the outcome go to LABEL.result
run() {
	LD_PRELOAD=$2 PYTHONMALLOC=malloc timeout 250 "$python" -m test -j0 $modules >"$1.log" 2>&1
	echo "exit status $?" >"$1.result"
	grep -E 'tests? OK|tests? failed|^Result|^Tests result' "$1.log" >>"$1.result"
}
run ours "$lib"
if [ "$(head -n 1 ours.result)" != "exit status 0" ] || grep -q '^drystone: ' ours.log; then
	run plain ""
	fail "under drystone: $(cat ours.result); without: $(cat plain.result)"
	tail -n 60 ours.log >&2
fi
grep -q 'All 6 tests OK' ours.log || fail "not all six modules were run: $(cat ours.result)"
finish
