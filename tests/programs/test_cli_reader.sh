#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# The reader behind `drystone info`, on made-up structures: exact figures from whole ones, and
# neither crash nor endless loop nor nonsense from damaged ones; however the program was linked.
. "$(dirname "$0")/common.inc"
need python3 cc
cat >"$work/head" <<'END'
slabinfo - version: 2.1
# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables <limit> <batchcount> <sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>
END
# 1500 objects less 150 free, 30 shared, 9 alien, 13 in arrays; 200 less 7 in arrays
cat >"$work/plain" <<'END'
plain               1298   1500     32  100    4 : tunables   20   10    8 : slabdata     14     15     30
END
cat >"$work/two" <<'END'
two_slots            193    200     64   50    1 : tunables   20   10    8 : slabdata      4      4      0
END
cat >"$work/alias" <<'END'
other-name          1298   1500     32  100    4 : tunables   20   10    8 : slabdata     14     15     30
END
cat >"$work/second" <<'END'
second/elsewhere       8      8   4096    4    1 : tunables   20   10    0 : slabdata      2      2      0
END
cd "$work" || exit 1

# with MODE COMMAND...: run the command on the id of a mock in this mode; output, messages, status
with() {
	: >ready # by us: the child may be late to empty what the last one wrote
	"./$mock" "$1" >>ready 2>child.err &
	child=$!
	children="$children $child"
	for _ in $(seq 3000); do
		grep -q ready ready && break
		sleep 0.02
	done
	shift
	timeout 100 "$cli" info ${format---slabinfo} "$@" "$child" >out 2>err
	status=$?
	kill -9 $child
	wait $child 2>/dev/null
}
# listing STATUS FILE...: that was the result
listing() {
	[ $status = "$1" ] || fail "$mock $mode: status $status instead of $1: $(cat err)"
	shift
	cat "$@" >wanted
	cmp -s wanted out || fail "$mock $mode: $(diff wanted out)"
}

# exported; only in the symbol table; fixed address; stripped
cc -O1 -fPIE -pie -rdynamic -I "$top/include" "$here/mock.c" -o exported
cc -O1 -fPIE -pie -rdynamic -Wl,--hash-style=sysv -I "$top/include" "$here/mock.c" -o sysv
cc -O1 -fPIE -pie -I "$top/include" "$here/mock.c" -o hidden
cc -O1 -static -I "$top/include" "$here/mock.c" -o fixed
cc -O1 -static -s -I "$top/include" "$here/mock.c" -o stripped
[ -x exported ] && [ -x sysv ] && [ -x hidden ] && [ -x fixed ] && [ -x stripped ] || { fail "the mock does not compile"; finish; }
mode=whole
for mock in exported sysv hidden fixed stripped; do
	with whole
	listing 0 head plain two second
done
mock=exported
with whole --all
listing 0 head plain two alias second
format= with whole --json --all
python3 -c 'import json
c = json.load(open("out"))["caches"]
assert [x["name"] for x in c] == ["plain", "other-name", "two_slots", "elsewhere"], c
assert c[0]["allocs"] == 1507 and c[2]["allocs"] == 40 and c[0]["slow_allocs"] == 7 and c[0]["object_size"] == 31, c
assert c[1]["alias_of"] == "plain" and c[3]["heap"] == "second" and not c[3]["default_heap"], c' ||
	fail "--json: $(cat out)"

# damage that a listing survives
mode=empty && with $mode && listing 0 head
mode=too-many-free && with $mode
sed 's/ 193 /   0 /' two >none
listing 0 head plain none second
mode=area-unmapped && with $mode
sed 's/1298/1309/' plain >more_plain
sed 's/193/196/' two >more_two
listing 0 head more_plain more_two second
mode=name && with $mode
grep -q '^?\[2J??_"\\_a_name_without ' out || fail "name: $(cat -v out)"
[ "$(LC_ALL=C tr -d '\n -~' <out | wc -c)" = 0 ] || fail "name: not printable"
format= with name --json
python3 -c 'import json; json.load(open("out"))' || fail "name: --json: $(cat out)"

# damage that ends it: said in one line, status 1, what was read until then is printed
for mode in cycle heap-cycle next-unmapped next-odd root-unmapped num-zero order-huge slots-huge nodes-huge \
	alien-unmapped array-far field-odd field-far; do
	with $mode
	[ $status = 1 ] || fail "$mode: status $status: $(cat err)"
	grep -q "^drystone: process $child could not be read to the end (.*)$" err || fail "$mode: $(cat err)"
	[ "$(head -n 2 out)" = "$(cat head)" ] || fail "$mode: $(cat out)"
	[ "$(wc -l <out)" -lt 200000 ] || fail "$mode: $(wc -l <out) lines"
done
mode=next-unmapped && with $mode
listing 1 head plain

# another version, another width, none
mode=version && with $mode
{ [ $status = 1 ] && grep -q 'another drystone (layout version 77' err; } || fail "version: $(cat err)"
mode=width && with $mode
{ [ $status = 1 ] && grep -q '32-bit)' err; } || fail "width: $(cat err)"
mode=magic && with $mode
{ [ $status = 1 ] && grep -q 'does not run on drystone' err; } || fail "magic: $(cat err)"

# random damage while it is read
./exported scribble >ready &
child=$!
children="$children $child"
sleep 0.5
for n in $(seq 300); do
	timeout 100 "$cli" info --slabinfo "$child" >out 2>err
	status=$?
	[ $status -le 1 ] || fail "scribble $n: status $status"
	[ "$(head -n 2 out)" = "$(cat head)" ] || fail "scribble $n: $(cat out err)"
	[ "$failures" -lt 5 ] || break
done
kill -0 $child || fail "scribble: the mock died"
finish
