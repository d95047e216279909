#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# Heap profiles: against exact counts; at exit, by signal, by call, from outside; all that they are written as.
. "$(dirname "$0")/common.inc"
need python3 cc
cc -O1 -g -pthread -I"$top/include" "$here/profiled.c" -o "$work/profiled" || { fail "profiled.c does not compile"; finish; }
"$cli" profile --help >/dev/null || { fail "profile --help"; finish; }

TMPDIR=$work/tmp
mkdir "$TMPDIR"
export TMPDIR

# at exit, as each kind of file
for kind in pb.gz folded html txt; do
	"$cli" run --library "$lib" --profile "$work/out.$kind" --conf profile:512 -- "$work/profiled" \
		>"$work/truth" 2>"$work/err" || fail "run --profile out.$kind: $(cat "$work/err")"
	[ -s "$work/err" ] && fail "run --profile out.$kind says: $(cat "$work/err")"
	[ "$kind" = pb.gz ] || continue
	if ldd "$cli" | grep -q libz; then
		python3 "$here/profile_check.py" "$work/out.pb.gz" "$work/truth" 2>"$work/err" || fail "out.pb.gz: $(tail -n 1 "$work/err")"
	fi
done
# where nothing can be written is said before the program runs, or the wait begins; what stands there stays
echo older >"$work/older.txt"
for bad in "$work/nowhere/x.html" "$work"; do
	"$cli" run --library "$lib" --profile "$bad" -- touch "$work/ran" 2>"$work/err"
	[ $? = 125 ] && [ ! -e "$work/ran" ] && grep -q 'cannot be written: ' "$work/err" || fail "run --profile $bad: $(cat "$work/err")"
	timeout 20 "$cli" profile -s 60 -o "$bad" 1 2>"$work/err"
	[ $? = 1 ] && grep -q 'cannot be written: ' "$work/err" || fail "profile -o $bad: $(cat "$work/err")"
done
for output in older new; do
	"$cli" run --library "$lib" --profile "$work/$output.txt" -- "$work/nothing" 2>"$work/err" && fail "no program"
done
[ "$(cat "$work/older.txt")" = older ] && [ ! -e "$work/new.txt" ] || fail "a file is begun before there is a profile"
# what cannot be written at the end leaves what was measured, and the older file
"$cli" run --library "$lib" --profile /dev/full --conf profile:512 -- "$work/profiled" >"$work/truth" 2>"$work/err"
[ $? = 125 ] && grep -q '/dev/full cannot be written: No space left' "$work/err" || fail "run --profile, a full disk: $(cat "$work/err")"
raw=$(sed -n 's/^drystone: run: what was measured stays in \([^,]*\),.*/\1/p' "$work/err")
mv "$raw" "$work/bare" && rmdir "${raw%/*}" && "$cli" profile -a "$work/bare" | grep -q ' page$' || fail "run --profile: lost: $raw"
for kind in html pb.gz; do
	[ $kind = html ] || ldd "$cli" | grep -q libz || continue
	echo older >"$work/older.$kind"
	(trap '' XFSZ && ulimit -f 1 && exec "$cli" profile -o "$work/older.$kind" "$work/bare") 2>"$work/err" && fail "a full disk, .$kind"
	[ "$(cat "$work/older.$kind")" = older ] && grep -q 'cannot be written: File too large' "$work/err" ||
		fail "a full disk, .$kind: the older file is gone: $(cat "$work/err")"
done
ls "$work"/older.*.new* >"$work/out" 2>&1 && fail "a part of a profile is left: $(cat "$work/out")"
# what --output wrote is read again, with the same figures
if ldd "$cli" | grep -q libz; then
	"$cli" profile -o "$work/read.folded" "$work/out.pb.gz" 2>"$work/err" && [ ! -s "$work/err" ] &&
		grep -Eq '(^|;)main;work;page;\[kmalloc-4096\] [0-9]+$' "$work/read.folded" || fail "a .pb.gz is not read: $(cat "$work/err")"
	"$cli" profile "$work/out.pb.gz" | grep -q ' by a sample every 512 bytes$' || fail "a .pb.gz does not keep its rate"
fi
grep -Eq '(^|;)main;work;page;\[kmalloc-4096\] [0-9]+$' "$work/out.folded" || fail "out.folded: $(head -n 3 "$work/out.folded")"
grep -q 'const stacks = \[$' "$work/out.html" && ! grep -Eq 'src=|href=|//[a-z]+\.[a-z]+/' "$work/out.html" || fail "out.html is not whole in itself"
grep -Eq '^ *[0-9]+ +[0-9.]+ +[0-9]+ +[0-9.]+  page$' "$work/out.txt" || fail "out.txt: $(cat "$work/out.txt")"
"$cli" run --library "$lib" --profile "$work/seven.txt" -- awk 'BEGIN { exit 7 }'
[ $? = 7 ] && [ -s "$work/seven.txt" ] || fail "the program's exit status is lost"
"$cli" run --library "$lib" --profile "$work/none.txt" -- python3 -c 'import os; os._exit(7)' 2>"$work/err"
[ $? = 7 ] && grep -q 'left no profile: .*_exit()' "$work/err" || fail "ended by _exit(): $(cat "$work/err")"
rm -f "$work/none.txt" # python3 may be a script
# without a profile it is no success, and the reason is said once
for conf in debug:F secure:1; do
	"$cli" run --library "$lib" --conf $conf --profile "$work/none.txt" -- true 2>"$work/err"
	[ $? = 125 ] && [ ! -e "$work/none.txt" ] && [ "$(wc -l <"$work/err")" = 1 ] && grep -q 'profile: not together with' "$work/err" ||
		fail "--profile and $conf: $(cat "$work/err")"
done
"$cli" run --library "$lib" --profile "$work/none.txt" -- "$work/no-such-program" 2>"$work/err"
[ $? = 127 ] && [ "$(wc -l <"$work/err")" = 1 ] || fail "--profile and no program: $(cat "$work/err")"
# a script, which has none itself: that of the process with most; with %p there is a file for each that has samples
wrapper="$work/profiled >$work/truth; sleep 0; exit 5"
main='(^|;)main;work;page;\[kmalloc-4096\] [0-9]+$'
"$cli" run --library "$lib" --profile "$work/each-%p.folded" --conf profile:512 -- sh -c "$wrapper" 2>"$work/err"
[ $? = 5 ] && [ ! -s "$work/err" ] || fail "run --profile %p: $(cat "$work/err")"
cat "$work"/each-[0-9]*.folded | grep -Eq "$main" || fail "no profile of a child: $(ls "$work")"
[ ! -e "$work/each-%p.folded" ] || fail "%p is left in the name"
"$cli" run --library "$lib" --profile "$work/script.folded" --conf profile:512 -- sh -c "$wrapper" 2>"$work/err"
[ $? = 5 ] && grep -Eq "$main" "$work/script.folded" &&
	grep -q "^drystone: run: $work/script.folded is of process [0-9]* (profiled)$" "$work/err" || fail "run --profile of a script: $(cat "$work/err")"
# the first one that has samples comes before what it starts
"$cli" run --library "$lib" --profile "$work/both.folded" --conf profile:512 -- perl -e \
	'@l = map { "x" x $_ } 1 .. 50; system $ARGV[0]; exit 6' "$work/profiled" >"$work/truth" 2>"$work/err"
[ $? = 6 ] && ! grep -Eq "$main" "$work/both.folded" && grep -q 'both.folded is of process [0-9]* (perl' "$work/err" &&
	grep -q '^drystone: run: [0-9]* more allocated much: with %p in the file' "$work/err" || fail "run --profile, two: $(cat "$work/err")"
ls -d "$TMPDIR"/* >/dev/null 2>&1 && fail "run --profile leaves its folder: $(ls "$TMPDIR")"
"$cli" profile "$work/seven.txt" 2>"$work/err"
[ $? = 1 ] && grep -q 'seven.txt: it is no heap profile, nor ' "$work/err" || fail "profile of a table: $(cat "$work/err")"

# as the library writes it; pprof itself, where there is one
LD_PRELOAD=$lib DRYSTONE_CONF=profile:512,profile_file:$work/own.%p "$work/profiled" >"$work/truth" || fail "profiled"
mv "$work"/own.* "$work/own" || fail "profile_file: not written"
"$cli" profile -a -o "$work/again.txt" "$work/own" || fail "profile of a file"
# a file's group may go on reading it, and no other group in its place
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	mkdir "$work/theirs"
	cp "$cli" "$work/own" "$work/theirs"
	chmod 755 "$work" "$work/theirs/drystone"
	: >"$work/theirs/kept.txt"
	: >"$work/theirs/lost.txt"
	chown -R 65534:65534 "$work/theirs"
	chown :1 "$work/theirs/kept.txt" "$work/theirs/lost.txt"
	chmod 664 "$work"/theirs/*.txt
	for groups in kept=1 lost=2; do
		setpriv --reuid 65534 --regid 65534 --groups ${groups#*=} "$work/theirs/drystone" profile -a \
			-o "$work/theirs/${groups%=*}.txt" "$work/theirs/own" || fail "profile of another's file"
	done
	[ "$(stat -c %a:%g "$work/theirs/kept.txt" "$work/theirs/lost.txt" | tr '\n' ' ')" = '664:1 604:65534 ' ] ||
		fail "group of an old file: $(stat -c %n:%a:%g "$work"/theirs/*.txt)"
fi
if command -v go >/dev/null && go tool pprof -help >/dev/null 2>&1; then
	for file in own out.pb.gz; do
		PPROF_TMPDIR=$work go tool pprof -sample_index=alloc_space -top "$work/profiled" "$work/$file" >"$work/top" 2>&1
		grep -Eq ' page$' "$work/top" || fail "pprof of $file: $(cat "$work/top")"
	done
fi
# names do not go by the numbers of files, which two devices may share
sed -E '/^MAPPED_LIBRARIES/,$ s/^(([^ ]+ +){4})[1-9][0-9]* /\19 /' "$work/own" >"$work/alike"
cmp -s "$work/own" "$work/alike" && fail "the profile's files have no numbers"
"$cli" profile -a -o "$work/alike.txt" "$work/alike" && cmp "$work/again.txt" "$work/alike.txt" || fail "names of files with one number"
for bad in 'heap profile: 1' 'heap profile: 1: 2 [3: 4] @ heap_v2/0
1: 2 [3: 4] @ 0x1' 'heap profile: 1: 2 [3: 4] @ heap_v2/512
x'; do
	printf '%s\n' "$bad" >"$work/bad"
	"$cli" profile "$work/bad" >"$work/out" 2>"$work/err" && fail "accepted: $bad"
done

# by call
LD_PRELOAD=$lib "$work/profiled" call "$work/called" >"$work/truth" || fail "dry_profile_heap(): $?"
"$cli" profile -o "$work/called.txt" "$work/called" && grep -q ' small$' "$work/called.txt" || fail "dry_profile_write()"

# by signal, and from outside; then it is off again
mkfifo "$work/orders"
LD_PRELOAD=$lib DRYSTONE_CONF=profile:4096,profile_file:$work/by_signal,profile_signal:10 "$work/profiled" again \
	<"$work/orders" >"$work/said" 2>"$work/err" &
signalled=$!
LD_PRELOAD=$lib "$work/profiled" again <"$work/orders" >"$work/said2" 2>"$work/err" &
asked=$!
children="$signalled $asked"
exec 3>"$work/orders"
for _ in $(seq 500); do grep -q big "$work/said" && grep -q big "$work/said2" && break || sleep 0.02; done
kill -10 $signalled
"$cli" profile "$asked" >"$work/out" 2>"$work/err" && fail "a profile of a process that takes no samples"
grep -q 'takes no samples; --seconds' "$work/err" || fail "no samples: $(cat "$work/err")"
"$cli" profile --seconds 1 --rate 16384 --all --output "$work/asked.txt" "$asked" 2>"$work/err" || fail "--seconds: $(cat "$work/err")"
grep -q ' page$' "$work/asked.txt" || fail "--seconds: $(cat "$work/asked.txt")"
"$cli" profile --all "$asked" >"$work/one" && sleep 0.3 && "$cli" profile --all "$asked" >"$work/two"
cmp -s "$work/one" "$work/two" || fail "it goes on taking samples"
for _ in $(seq 100); do [ -s "$work/by_signal" ] && break || sleep 0.02; done
"$cli" profile "$work/by_signal" >"$work/out" && grep -q ' page$' "$work/out" || fail "profile_signal"
echo >&3
echo >&3
kill $signalled $asked 2>/dev/null

# SIGKILL
LD_PRELOAD=$lib DRYSTONE_CONF=profile:4096,profile_signal:9 "$work/profiled" call "$work/called" >/dev/null 2>"$work/err"
[ "$(cat "$work/err")" = "drystone: profile_signal: no program can handle signal 9" ] || fail "profile_signal:9: $(cat "$work/err")"

# one that ends meanwhile is said to, and not waited for
LD_PRELOAD=$lib sleep 1 &
asked=$!
for _ in $(seq 500); do "$cli" info $asked >"$work/out" 2>&1 && break || sleep 0.02; done
timeout 30 "$cli" profile --seconds 100 $asked >"$work/out" 2>"$work/err"
[ $? = 1 ] && grep -q "process $asked ended after" "$work/err" || fail "a process that ends: $(cat "$work/err")"

# one that lives by hits alone, with one thread and with some
cc -O1 -fno-builtin -pthread "$here/steady.c" -o "$work/steady" || fail "steady.c does not compile"
for threads in 1 4; do
	: >"$work/said" # what the last one said must not be taken for the next one's
	(ulimit -v 600000 && LD_PRELOAD=$lib exec "$work/steady" $threads) >"$work/said" 2>"$work/err" & # for the core file's size
	steady=$!
	children="$children $steady"
	for _ in $(seq 500); do grep -q steady "$work/said" && break || sleep 0.02; done
	for turn in first second; do
		"$cli" profile --seconds 0.5 --rate 1000 --all --output "$work/steady.txt" $steady 2>"$work/err" &&
			grep -Eq '^ *[1-9][0-9]* +100.00 .* work$' "$work/steady.txt" || fail "steady, $threads, $turn: $(cat "$work/err" "$work/steady.txt")"
	done
	"$cli" profile --seconds 0.1 --rate 1000000000 $steady >"$work/out" 2>"$work/err" || fail "steady, $threads, no sample: $?"
	"$cli" profile --seconds 0.1 --rate 1000 -o "$work/steady.html" $steady 2>"$work/err" &&
		grep -q "^const title = \"steady, process $steady\";$" "$work/steady.html" || fail "title: $(grep title "$work/steady.html" | head -n 2)"
	# ended early, it does not leave the process taking samples
	"$cli" profile --seconds 100 --rate 2000 --all $steady >"$work/out" 2>"$work/err" &
	command=$!
	sleep 0.5
	kill -TERM $command
	wait $command && grep -q ' work$' "$work/out" || fail "ended early: $? $(cat "$work/out" "$work/err")"
	"$cli" profile --all $steady >"$work/one" && sleep 0.1 && "$cli" profile --all $steady >"$work/two"
	cmp -s "$work/one" "$work/two" || fail "ended early, it goes on taking samples"
	# of a core file as of the process
	if [ $threads = 4 ] && [ "$(uname -m)" = x86_64 ]; then
		kill -STOP $steady
		python3 "$here/make_core.py" $steady "$work/core" && "$cli" profile --all "$work/core" >"$work/two" 2>"$work/err" &&
			cmp "$work/one" "$work/two" >&2 || fail "a core file: $(cat "$work/err" "$work/two")"
		rm -f "$work/core"
		kill -CONT $steady
	fi
	kill $steady
done
# one in a container, whose file has a namesake here
mkdir "$work/inner"
cc -O1 -fno-builtin -pthread -Dwork=namesake "$here/steady.c" -o "$work/inner/steady" || fail "steady.c does not compile"
: >"$work/said"
LD_PRELOAD=$lib unshare -m sh -c 'mount -t tmpfs tmpfs "$2" && cp "$1" "$2/steady" && exec "$2/steady"' sh "$work/steady" "$work/inner" \
	>"$work/said" 2>"$work/err" &
steady=$!
children="$children $steady"
for _ in $(seq 500); do { grep -q steady "$work/said" || ! kill -0 $steady 2>/dev/null; } && break || sleep 0.02; done
if grep -q steady "$work/said"; then
	"$cli" profile --seconds 0.5 --rate 1000 --all $steady >"$work/out" 2>"$work/err" || fail "in a container: $(cat "$work/err")"
	! ldd "$cli" | grep -q libdw || { grep -q ' work$' "$work/out" && ! grep -q namesake "$work/out"; } ||
		fail "in a container: $(cat "$work/out")"
	kill $steady
else
	echo "note: no namespaces (unshare); a container was not tested"
fi

# one whose first thread has ended, or ends meanwhile; and one that shows what it is by its file alone
left=$work/steady
[ -e "$(dirname "$lib")/libdrystone.a" ] && cc -O1 -fno-builtin -pthread -static "$here/steady.c" "$(dirname "$lib")/libdrystone.a" \
	-o "$work/static" 2>"$work/err" && left="$left $work/static"
for program in $left; do
	for after in 0 1000; do
		: >"$work/said"
		LD_PRELOAD=$lib "$program" leave $after >"$work/said" 2>"$work/err" &
		steady=$!
		children="$children $steady"
		for _ in $(seq 500); do grep -q steady "$work/said" && break || sleep 0.02; done
		"$cli" profile --seconds 1.5 --rate 1000 --all $steady >"$work/out" 2>"$work/err" && grep -q ' work$' "$work/out" ||
			fail "$program, its first thread ends: $(cat "$work/out" "$work/err")"
		"$cli" profile --all $steady >"$work/one" && sleep 0.1 && "$cli" profile --all $steady >"$work/two"
		cmp -s "$work/one" "$work/two" || fail "$program, its first thread ends: it goes on taking samples"
		"$cli" doctor $steady >"$work/out" && grep -q "^drystone serves process $steady\$" "$work/out" ||
			fail "$program, its first thread ends: $(cat "$work/out")"
		kill $steady
	done
done
: >"$work/said"
LD_PRELOAD=$lib "$work/steady" idle >"$work/said" &
idle=$!
children="$children $idle"
for _ in $(seq 500); do grep -q steady "$work/said" && break || sleep 0.02; done
"$cli" profile --seconds 0.1 $idle >"$work/out" 2>"$work/err" && fail "a profile of a program that sleeps"
grep -q 'made no allocation' "$work/err" || fail "idle: $(cat "$work/err")"
kill $idle

# names that are no text: of caches as in listings, of files as text
cat >"$work/named.c" <<'END'
#include <drystone/drystone.h>
#pragma weak dry_cache_create
#pragma weak dry_cache_alloc
int main(void)
{
	static const char *const names[] = { "odd\nline", "odd1\xff\xfe b", "odd2<script>" };
	void *volatile kept;

	for (int i = 0; i < 3; i++) {
		dry_cache *cache = dry_cache_create(0, &(struct dry_cache_attr){ .name = names[i], .size = 1000,
										 .flags = DRY_CACHE_NO_MERGE });
		for (int k = 0; k < 100; k++)
			kept = dry_cache_alloc(cache);
	}
	return kept == 0;
}
END
named=$work/$(printf 'na\377\303\274med')
"${CC:-cc}" -w -I"$top/include" "$work/named.c" -o "$named" || fail "named.c does not compile"
for kind in pb.gz html folded txt; do
	"$cli" run --library "$lib" --profile "$work/odd.$kind" --conf profile:100 -- "$named" 2>"$work/err" || fail "odd names: $(cat "$work/err")"
done
python3 - "$work" <<'END' 2>"$work/err" || fail "odd names: $(tail -n 3 "$work/err")"
import gzip, os, sys
for kind in "html", "folded":
    with open(os.path.join(sys.argv[1], "odd." + kind), encoding="utf-8") as file:
        text = file.read()
    for name in "odd?line", "odd1??_b", "odd2":
        assert name in text, (kind, name)
    assert kind != "html" or "odd2<" not in text
if os.path.exists(os.path.join(sys.argv[1], "out.pb.gz")):
    data = gzip.open(os.path.join(sys.argv[1], "odd.pb.gz")).read()
    at = 0
    def number():
        global at
        value = shift = 0
        while True:
            byte = data[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value
    strings = []
    while at < len(data):
        key = number()
        value = number()
        if key & 7 == 2:
            if key >> 3 == 6:
                strings.append(data[at:at + value].decode("utf-8"))
            at += value
    assert "odd1??_b" in strings and any(s.endswith("na?\u00fcmed") for s in strings), strings
END

# names are no orders to a terminal, and end no line
printf '%s\n' 'heap profile: 1: 64 [1: 64] @ heap_v2/64' '# cache 64' '1: 64 [1: 64] @ 0x1010' '' MAPPED_LIBRARIES: \
	"1000-2000 r-xp 00000000 00:00 9 /x/$(printf 'e\033[2Jvil')" >"$work/evil"
"$cli" profile "$work/evil" >"$work/out" && grep -q ' e?\[2Jvil+0x10$' "$work/out" || fail "a name is an order: $(cat -v "$work/out")"
if ldd "$cli" | grep -q libz; then
	python3 -c 'import gzip, sys
text = gzip.open(sys.argv[1] + "/odd.pb.gz").read()
open(sys.argv[1] + "/evil.pb", "wb").write(text.replace(b"odd1??_b", b"odd1\n\x1b_b"))' "$work"
	"$cli" profile -o "$work/evil.folded" "$work/evil.pb" && grep -q 'odd1??_b' "$work/evil.folded" &&
		! grep -Evq '\] [0-9]+$' "$work/evil.folded" || fail "a label ends a line: $(cat -v "$work/evil.folded")"
fi

# code without frame pointers
if [ -x /usr/bin/python3 ]; then
	PYTHONMALLOC=malloc "$cli" run --library "$lib" --profile "$work/python.folded" --conf profile:4096 -- /usr/bin/python3 -c \
		'x = [str(i) for i in range(100000)]' || fail "run --profile python3"
	awk '{ n++ } /_start;.*Py_BytesMain;.*\[/ { whole++ } END { exit !(n > 20 && whole >= 0.95 * n) }' "$work/python.folded" ||
		fail "python3: stacks end before _start: $(head -n 5 "$work/python.folded")"
fi
for bad in '' '1 2' '--seconds x 1' '--rate 0 1' '--nonsense'; do
	# shellcheck disable=SC2086 # words
	"$cli" profile $bad >"$work/out" 2>"$work/err"
	[ $? = 2 ] && [ -s "$work/err" ] || fail "profile $bad"
done
finish
