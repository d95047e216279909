#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# The Python package as it lies in the tree, on the built library and without it.
. "$(dirname "$0")/common.inc"
test=$root/bindings/python/tests/test_package.py
export PYTHONPATH="$root/bindings/python" PYTHONDONTWRITEBYTECODE=1
python3 "$test" --without
"$build/drystone" run -- env PYTHONMALLOC=malloc python3 "$test"
"$build/drystone" run -- python3 "$test"
