#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# What a heap profile at the default rate costs, in instructions that Valgrind counts: at most 1 %, of a perl script that works on
# hashes and strings, and of a loop that does nothing but malloc() and free(). Hashes have a fixed seed: without a profile, counts
# are the same on every run.
# DRY_TEST_NO_NORSEQ: Valgrind has no rseq.
. "$(dirname "$0")/common.inc"
need valgrind perl cc
cat >"$work/churn.c" <<'END'
#include <stdlib.h>
static void *live[30000];
int main(void)
{
	for (unsigned i = 0, x = 1; i < 3000000; i++) {
		void **place = &live[((x = x * 1103515245 + 12345) >> 8) % 30000];
		free(*place);
		*place = malloc(60 + (x >> 4) % 100);
	}
}
END
cc -O1 "$work/churn.c" -o "$work/churn" || { fail "churn.c does not compile"; finish; }

# count CONF CMD...: instructions
count() {
	conf=$1
	shift
	PERL_HASH_SEED=0 LD_PRELOAD=$lib DRYSTONE_CONF=annotate:0,background:0$conf setarch -R valgrind --tool=cachegrind \
		--cache-sim=no --cachegrind-out-file="$work/counts" "$@" 2>&1 >"$work/out" | sed -n 's/.*I *refs: *//p' | tr -d ,
}
# within CMD...: at most a percent more with a profile, and there are samples
within() {
	off=$(count '' "$@")
	on=$(count ",profile:524288,profile_file:$work/profile" "$@")
	echo "$1: $off, with a profile $on"
	[ "${off:-0}" -gt 1000000 ] && [ "$on" -gt 0 ] || { fail "$1 was not counted"; return; }
	[ "$("$cli" profile -a "$work/profile" | awk '$1 + 0 > 0 { n++ } END { print n + 0 }')" -gt 0 ] || fail "$1: no samples"
	[ $(((on - off) * 100)) -le "$off" ] || fail "$1: more than a percent"
}
within "$work/churn"
within perl "$top/bench/suite/programs/work.pl" 1000
finish
