#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# Faults of a program's own take their course as without the library, in each profile; reports name their caller, and go to a
# file where that is asked for, also where standard error is closed.
. "$(dirname "$0")/common.inc"
need python3
need "${CC:-cc}"
ulimit -c 0

# python's handler of faults: its text, but for addresses, and the status
fault() {
	status=0
	"$@" python3 -X faulthandler -c 'import ctypes; ctypes.string_at(0)' 2>"$work/err" || status=$?
	sed 's/0x[0-9a-f]*/0x*/g' "$work/err" >>"$work/text"
	echo "$status" >>"$work/text"
	cat "$work/text"
	rm "$work/text"
}
fault env >"$work/plain"
grep -q 'Segmentation fault' "$work/plain" || fail "no fault without the library: $(cat "$work/plain")"
for conf in abort:1 check:1 guard:1 secure:1; do
	fault env LD_PRELOAD="$lib" DRYSTONE_CONF=$conf >"$work/with"
	cmp -s "$work/plain" "$work/with" || fail "$conf: $(diff "$work/plain" "$work/with")"
	# a signal that is sent ends the process as it does by default
	status=0
	env LD_PRELOAD="$lib" DRYSTONE_CONF=$conf sh -c 'kill -SEGV $$' 2>/dev/null || status=$?
	[ $status = 139 ] || fail "$conf: kill -SEGV: status $status"
done

cat >"$work/twice.c" <<'END'
#include <stdlib.h>
void *volatile block;
int main(void)
{
	block = malloc(64);
	free(block);
	free(block);
	return 0;
}
END
"${CC:-cc}" -O0 -fno-builtin -w -rdynamic "$work/twice.c" -o "$work/twice"
for conf in check:1 secure:1; do
	(LD_PRELOAD=$lib DRYSTONE_CONF=$conf,log:$work/log.%p exec "$work/twice") 2>&-
	[ $? = 134 ] || fail "$conf: no end"
	cat "$work"/log.[0-9]* >"$work/err" || fail "$conf: no log"
	head -n 1 "$work/err" | grep -q '^drystone: double free: 0x' || fail "$conf: $(cat "$work/err")"
	grep -q '^  main+0x' "$work/err" || fail "$conf: no caller: $(cat "$work/err")"
	rm "$work"/log.[0-9]*
done
finish
