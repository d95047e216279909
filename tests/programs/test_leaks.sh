#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# drystone run --leaks: what is lost is told from what can be reached; programs that lose nothing have nothing said of them.
. "$(dirname "$0")/common.inc"
need cc
cc -O1 -g -pthread "$here/lost.c" -o "$work/lost" || { fail "lost.c does not compile"; finish; }
TMPDIR=$work/tmp
mkdir "$TMPDIR"
export TMPDIR

# leaks STATUS ARGUMENT...: drystone run --leaks ARGUMENT... ends with it; what it says is in $work/err
leaks() {
	want=$1
	shift
	"$cli" run --library "$lib" --leaks "$@" >"$work/out" 2>"$work/err"
	status=$?
	[ $status = "$want" ] || fail "run --leaks $*: status $status, not $want: $(head -n 5 "$work/err")"
}
silent() {
	[ -s "$work/err" ] && fail "$1: $(head -n 12 "$work/err")"
}
said() {
	grep -Eq "$1" "$work/err" || fail "not said: $1: $(cat "$work/err")"
}

case $lib in */posix/*)
	leaks 125 -- "$work/lost" lose
	said 'leaks_file: no search for lost blocks can be made'
	finish
	;;
esac

# reached in every way: nothing is said, and the status is the program's
leaks 0 -- "$work/lost" none
silent none
leaks 0 -- "$work/lost" keep
silent keep
leaks 0 -- "$work/lost" fork
silent fork
leaks 7 -- "$work/lost" keep 7
silent "keep, status 7"

# lost: sums, the biggest first, what is behind them
leaks 23 -- "$work/lost" lose
said '^drystone: leaks: 7348553 bytes in 19 blocks lost by process [0-9]+ \(lost\), and 3880 bytes in 6 blocks behind them; [0-9]+ bytes in [0-9]+ blocks can be reached$'
cat >"$work/want" <<'END'
7340032 bytes in 1 block, allocated by
4321 bytes in 1 block, allocated by
1000 bytes in 1 block, and behind them 2000 bytes in 2 blocks, allocated by
640 bytes in 1 block, and behind them 640 bytes in 1 block, allocated by
640 bytes in 1 block, and behind them 640 bytes in 1 block, allocated by
777 bytes in 1 block, allocated by
48 bytes in 1 block, and behind them 600 bytes in 2 blocks, allocated by
555 bytes in 1 block, allocated by
300 bytes in 1 block, allocated by
240 bytes in 10 blocks, allocated by
END
grep '^[0-9]' "$work/err" | cmp -s - "$work/want" || fail "other sites: $(cat "$work/err")"
leaks 99 --exitcode 99 -- "$work/lost" lose 7
leaks 7 --exitcode=0 -- "$work/lost" lose 7
said '^drystone: leaks: '

# names, and suppressions by them
echo leak:lost >"$work/module"
leaks 0 --suppressions "$work/module" -- "$work/lost" lose
silent "suppressed by module"
if ldd "$cli" | grep -q libdw; then
	said_names() { tr '\n' ' ' <"$work/err" | grep -Eq "$1" || fail "not said: $1: $(cat "$work/err")"; }
	leaks 23 -- "$work/lost" lose
	said_names '240 bytes in 10 blocks, allocated by +get [^ ]*lost\.c:[0-9]+ +lose_small [^ ]*lost\.c:[0-9]+ +lose_all [^ ]*lost\.c:[0-9]+ +main '
	printf '# a ring, and what it is hard to see\n\nleak:lose_ring\n  leak:^lose*all$\n' >"$work/all"
	leaks 0 --suppressions "$work/all" -- "$work/lost" lose
	silent "suppressed by function"
	printf 'leak:^lose_chain$\nleak:^ose_big\nleak:se_smal$\nleak:pair\nleak:lose_in_\nleak:_deep\nleak:lose_r*g\n' >"$work/some"
	printf 'leak:nobody\nleak:*_alig*$\n' >"$work/more"
	leaks 23 --suppressions "$work/some" --suppressions "$work/more" -- "$work/lost" lose
	said '^drystone: leaks: 7340272 bytes in 11 blocks lost by process [0-9]+ \(lost\); '
	echo leak:programs/lost.c >"$work/file"
	leaks 0 --suppressions "$work/file" -- "$work/lost" lose
	silent "suppressed by source file"
fi

# objects of typed caches, of heaps of the program's, too
cc -Wall -O1 -g -I "$top/include" "$here/lost_typed.c" -o "$work/lost_typed" "$lib" -Wl,-rpath,"$(dirname "$lib")" ||
	fail "lost_typed.c does not compile"
leaks 0 -- "$work/lost_typed" keep
silent "lost_typed keep"
leaks 23 -- "$work/lost_typed" lose
said '^drystone: leaks: 3863 bytes in 20 blocks lost by process [0-9]+ \(lost_typed\), and 940 bytes in 4 blocks behind them; '
cat >"$work/want" <<'END'
112 bytes in 1 block of cache owner, and behind them 700 bytes in 1 block, allocated by
1360 bytes in 10 blocks of cache bulk, allocated by
152 bytes in 1 block of cache on_a_node, allocated by
208 bytes in 1 block of cache private, allocated by
320 bytes in 1 block of cache kmalloc-320, allocated by
48 bytes in 1 block of cache other_twin, allocated by
48 bytes in 1 block of cache twin, allocated by
555 bytes in 1 block, allocated by
64 bytes in 1 block of cache chained, and behind them 128 bytes in 2 blocks, allocated by
900 bytes in 1 block, and behind them 112 bytes in 1 block, allocated by
96 bytes in 1 block of cache single, allocated by
END
grep '^[0-9]' "$work/err" | sort | cmp -s - "$work/want" || fail "other typed sites: $(cat "$work/err")"

# pages that fault in the midst of what can be read, with the kernel's list of pages and without; stacks between them
cc -O1 -g -pthread "$here/lost_guarded.c" -o "$work/lost_guarded" || fail "lost_guarded.c does not compile"
"$work/lost_guarded" guards
if [ $? = 77 ]; then
	echo "no guards here (Linux 6.13)"
else
	for without in "" no-pagemap; do
		leaks 23 -- "$work/lost_guarded" guards $without
		said '^drystone: leaks: 3333 bytes in 2 blocks lost by process [0-9]+ \((lost_guarded|\?)\); '
		leaks 0 -- "$work/lost_guarded" blocks $without
		silent "lost_guarded blocks $without"
	done
fi

# programs of the system; each process has a say
leaks 0 -- ls -l /
silent ls
leaks 23 -- sh -c "$work/lost lose; $work/lost keep; exit 0"
[ "$(grep -c '^drystone: leaks: ' "$work/err")" = 1 ] || fail "a child's leaks: $(cat "$work/err")"
if [ -x /usr/bin/python3 ]; then
	leaks 0 -- /usr/bin/python3 -c 'print(sum(len(str(i)) for i in range(1000)))'
	silent python3
fi

# threads at work, which go on when the search is over
cc -O2 -pthread "$here/busy_lists.c" -o "$work/busy_lists" || fail "busy_lists.c does not compile"
leaks 0 -- "$work/busy_lists" 12
silent busy_lists
leaks 0 -- "$work/busy_lists" 3 fork
silent "busy_lists, forked"

leaks 125 --suppressions "$work" -- "$work/lost" none
said "cannot read the suppressions $work: Is a directory"
leaks 125 --allocator tiny -- "$work/lost" none
said 'for the allocator drystone alone'
leaks 127 -- "$work/no-such-program"
grep -q 'was not searched' "$work/err" && fail "a second reason: $(cat "$work/err")"

# what cannot be searched is no success
leaks 137 -- sh -c 'kill -9 $$'
said 'was not searched for leaks'
leaks 125 --conf debug:U -- "$work/lost" none
said 'not together with debug'
leaks 125 --conf secure:1 -- "$work/lost" none
said 'not together with debug, fail, secure'
grep -q 'was not searched' "$work/err" && fail "a second reason: $(cat "$work/err")"
leaks 137 --conf secure:1,secure:0 -- sh -c 'kill -9 $$'
said 'was not searched for leaks'
leaks 125 --profile "$work/profile" -- "$work/lost" none
leaks 125 --exitcode 256 -- "$work/lost" none
leaks 125 --suppressions "$work/nothing" -- "$work/lost" none
echo race:x >"$work/bad"
leaks 125 --suppressions "$work/bad" -- "$work/lost" none
said 'bad:1: no suppression of a leak'
leaks 127 -- "$work/nothing"
# nobody reads what is said: the status and the folder are as ever; of the program a closed pipe is the end, as without
{
	"$cli" run --library "$lib" --leaks -- sh -c "sleep 0.2; exec $work/lost lose" 2>&1 >/dev/null
	echo $? >"$work/status"
} | :
[ "$(cat "$work/status")" = 23 ] || fail "a closed pipe: status $(cat "$work/status")"
leaks 141 -- sh -c 'kill -PIPE $$'
ls -d "$TMPDIR"/* >/dev/null 2>&1 && fail "run --leaks leaves its folder: $(ls "$TMPDIR")"
finish
