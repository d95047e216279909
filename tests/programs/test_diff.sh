#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# drystone diff: what grew between two snapshots, and between two profiles of either kind; damaged files end in a message.
# DRY_TEST_ONCE
. "$(dirname "$0")/common.inc"
need python3 cc
diff_of() {
	"$cli" diff "$@" >"$work/out" 2>"$work/err" || fail "diff $*: status $?: $(cat "$work/err")"
}
# expect FILE: the lines of $work/out are those, blanks aside
expect() {
	tr -s ' ' <"$work/out" | sed 's/^ //' | command diff - "$1" >"$work/differs" || fail "diff says otherwise: $(cat "$work/differs")"
}

# snapshots, with exact figures
cat >"$work/before" <<'END'
{"pid": 1, "program": "a \"b\" \u00e4", "summary": {"live": 1.5, "more": [1, {"x": null}]},
  "caches": [
    {"name": "kmalloc-64", "kind": "cache", "heap": "main", "live_bytes": 640, "bytes": 4096, "active_objs": 10, "num_objs": 64},
    {"name": "same", "kind": "cache", "heap": "main", "live_bytes": 5, "bytes": 4096, "active_objs": 1, "num_objs": 9},
    {"name": "gone", "kind": "cache", "heap": "other", "live_bytes": 100, "bytes": 4096, "active_objs": 1, "num_objs": 9}],
  "big_blocks": [], "parts": [{"name": "kmalloc-64", "kind": "node"}]}
END
cat >"$work/after" <<'END'
{"caches": [
    {"name": "twin", "kind": "cache", "heap": "main", "alias_of": "kmalloc-64", "live_bytes": 1280, "bytes": 4096, "active_objs": 20},
    {"name": "kmalloc-64", "kind": "cache", "heap": "main", "live_bytes": 1280, "bytes": 4096, "active_objs": 20, "num_objs": 64},
    {"name": "same", "kind": "cache", "heap": "main", "live_bytes": 5, "bytes": 8192, "active_objs": 1, "num_objs": 18}],
  "big_blocks": [{"name": "8M", "kind": "extents", "heap": "main", "live_bytes": 8388608, "bytes": 8388608, "active_objs": 1}]}
END
cat >"$work/want" <<'END'
growth before after objects of
+8389148 745 8389893 +10 all
+8388608 0 8388608 +1 8M (extents)
+640 640 1280 +10 kmalloc-64 (cache)
-100 100 0 -1 gone (cache of heap other)
END
diff_of "$work/before" "$work/after"
expect "$work/want"
cat >"$work/want" <<'END'
growth before after objects of
+8388608 12288 8400896 +0 all
+8388608 0 8388608 +0 8M (extents)
+4096 4096 8192 +9 same (cache)
-4096 4096 0 -9 gone (cache of heap other)
END
diff_of --all "$work/before" "$work/after"
expect "$work/want"
# through pipes, too; a file that ends within a name is said to
mkfifo "$work/pipe" "$work/pipe2"
timeout 60 cat "$work/before" >"$work/pipe" &
timeout 60 cat "$work/after" >"$work/pipe2" &
diff_of --all "$work/pipe" "$work/pipe2"
expect "$work/want"
for cut in '{"cac' '{"caches": [{"name": "a' '{"caches": [{"name": "a\'; do
	printf '%s' "$cut" >"$work/cut"
	"$cli" diff "$work/cut" "$work/after" 2>"$work/err"
	[ $? = 1 ] && grep -q 'it is no JSON, or cut short' "$work/err" || fail "cut at $cut: $(cat "$work/err")"
done
LD_PRELOAD=$lib sleep 60 &
children=$!
for _ in $(seq 500); do # until it has begun and has blocks
	"$cli" info --json "$children" >"$work/real" 2>/dev/null && grep -q '"live_bytes": [1-9]' "$work/real" && break || sleep 0.02
done
diff_of "$work/real" "$work/real"
[ "$(wc -l <"$work/out")" = 2 ] && grep -Eq '^ +\+0 +([1-9][0-9]*) +\1 +\+0  all$' "$work/out" || fail "a real one: $(cat "$work/out")"
# shellcheck disable=SC2086 # one number
kill $children

# profiles as the library writes them: stacks that are alike in names are one, and it is known of what they are
printf '%s\n' 'heap profile: 3: 3000 [9: 9000] @ heap_v2/1' '# cache 1024' '2: 2048 [3: 3072] @ 0x10 0x20' '# big 0' \
	'1: 5000 [1: 5000] @ 0x10' '' 'MAPPED_LIBRARIES:' >"$work/p1"
printf '%s\n' 'heap profile: 3: 3000 [9: 9000] @ heap_v2/1' '# cache 1024' '4: 4096 [7: 7168] @ 0x10 0x20' '# cache 2048' \
	'1: 2048 [1: 2048] @ 0x10 0x30' '' 'MAPPED_LIBRARIES:' >"$work/p2"
cat >"$work/want" <<'END'
growth before after objects of
-904 7048 6144 +2 all
+2048 2048 4096 +2 0x10 < 0x20 [kmalloc-1024]
+2048 0 2048 +1 0x10 < 0x30 [kmalloc-2048]
END
diff_of "$work/p1" "$work/p2"
grep -v '\[big\]$' "$work/out" >"$work/most" && grep -Eq '^ +-5000 +5000 +0 +-1  0x10( \[big\])?$' "$work/out" || fail "big: $(cat "$work/out")"
sed '/ -5000 /d' "$work/most" >"$work/out"
expect "$work/want"
diff_of -a "$work/p1" "$work/p2"
grep -Eq '^ +\+4096 +3072 +7168 +\+4  0x10 < 0x20 \[kmalloc-1024\]$' "$work/out" || fail "diff -a: $(cat "$work/out")"

timeout 60 cat "$work/p2" >"$work/pipe" &
diff_of "$work/p1" "$work/pipe"
tail -n +2 "$work/out" | sed '/ -5000 /d' | grep -q ' -904 .* all$' || fail "a profile through a pipe: $(cat "$work/out")"

# the same profile as text and as profile.proto does not differ
cc -O1 -g -pthread -I"$top/include" "$here/profiled.c" -o "$work/profiled" || { fail "profiled.c does not compile"; finish; }
LD_PRELOAD=$lib DRYSTONE_CONF=profile:4096,profile_file:$work/text "$work/profiled" >/dev/null || fail "profiled"
if "$cli" profile -o "$work/pb.gz" "$work/text" 2>"$work/err"; then
	diff_of "$work/text" "$work/pb.gz"
	[ "$(wc -l <"$work/out")" = 2 ] || fail "text and .pb.gz of one profile differ: $(head -n 5 "$work/out")"
	diff_of "$work/p1" "$work/pb.gz"
	[ "$(grep -Ec ' page < work < main <? ?.*\[kmalloc-4096\]$' "$work/out")" = 1 ] || ! ldd "$cli" | grep -q libdw || fail "pb.gz: $(cat "$work/out")"
	timeout 60 cat "$work/pb.gz" >"$work/pipe" &
	diff_of "$work/text" "$work/pipe"
	[ "$(wc -l <"$work/out")" = 2 ] || fail "a .pb.gz through a pipe: $(head -n 5 "$work/out")"
	timeout 60 cat "$work/pb.gz" >"$work/pipe" &
	"$cli" profile "$work/pipe" >"$work/out" 2>"$work/err" && "$cli" profile "$work/pb.gz" | cmp -s - "$work/out" ||
		fail "profile of a pipe: $(cat "$work/err")"
	gzip -dc "$work/pb.gz" >"$work/plain.pb"
	diff_of "$work/text" "$work/plain.pb"
else
	grep -q 'cannot be written' "$work/err" || fail "profile -o: $(cat "$work/err")"
	: >"$work/plain.pb"
fi

# a snapshot and a profile have nothing to be compared
for pair in "$work/before $work/p1" "$work/p1 $work/before"; do
	# shellcheck disable=SC2086 # words
	"$cli" diff $pair >"$work/out" 2>"$work/err" && fail "diff $pair: $(head -n 3 "$work/out")"
	grep -q 'it is .*snapshot' "$work/err" && [ ! -s "$work/out" ] || fail "diff $pair: $(cat "$work/err")"
done

# what is damaged ends in a message or in figures, and never in a crash
cat >"$work/damage.py" <<'END'
import random, subprocess, sys
cli, folder, files = sys.argv[1], sys.argv[2], sys.argv[3:]
random.seed(1)
for name in files:
    whole = open(name, "rb").read()
    for i in range(100):
        data = bytearray(whole)
        for _ in range(1 + i % 4 if data else 0):
            data[random.randrange(min(len(data), 3000 if i % 2 else len(data)))] = random.choice(b'\0\x01\x7f\x80\xff"{}[]:,\\u0')
        if i % 3 == 0:
            del data[random.randrange(len(data) + 1):]
        open(folder + "/damaged", "wb").write(data)
        done = subprocess.run([cli, "diff", folder + "/damaged", name], capture_output=True, timeout=20)
        assert done.returncode in (0, 1) and (done.returncode == 0) == (done.stderr == b""), (name, i, done)
END
python3 "$work/damage.py" "$cli" "$work" "$work/before" "$work/p1" "$work/plain.pb" 2>"$work/err" || fail "$(tail -n 1 "$work/err")"
for bad in "$work/before" "$work/before $work/nothing" "$work/before /dev/null" "--nonsense $work/before $work/after"; do
	# shellcheck disable=SC2086 # words
	"$cli" diff $bad >"$work/out" 2>"$work/err" && fail "diff $bad"
	[ -s "$work/err" ] || fail "diff $bad says nothing"
done
finish
