#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# drystone symbolize: functions, lines, inlined calls, C++'s names; debug files by link, build ID and of dwz; static programs; files
# that are gone.
# DRY_TEST_NO_NORSEQ
. "$(dirname "$0")/common.inc"
need c++ strip objcopy nm
[ "$(uname -m)" = x86_64 ] || skip "stacks are followed by frame pointers here"
cd "$work" || exit 1
printf '  (libnone.so.1+0x10)\n' | "$cli" symbolize >out 2>err
grep -q 'libnone.so.1 is found' err || fail "a file that is gone: $(cat out err)"
grep -qx '  (libnone.so.1+0x10)' out || fail "a line that stays: $(cat out)"
echo report | "$cli" symbolize -f "$work/nothing" >out 2>err
[ $? = 1 ] && [ ! -s out ] && grep -q "^drystone: symbolize: $work/nothing: No such file or directory\$" err ||
	fail "a file that is named and not there: $(cat out err)"
line() { grep -n "/\* $1 \*/" "$here/whole.cpp" | cut -d: -f1; }
line_of() { sed -n "s/.* [^ ]*whole.cpp:\([0-9]*\) .*/\1/p" | head -n 1; }
# report WHAT CONF PROGRAM: what the library says, then what the command makes of it
report() {
	(LD_PRELOAD=$lib DRYSTONE_CONF=$2 "$3" "$1") >/dev/null 2>"$work/report"
	"$cli" symbolize --file "$3" <"$work/report" >"$work/whole.txt" 2>"$work/err"
}
judge() { # judge WHAT: of a block that is freed three times
	{ grep -qx "  twice .*whole.cpp:$(line first) (inlined)" whole.txt && grep -qx "  twice .*whole.cpp:$(line second) (inlined)" whole.txt &&
		grep -q '^  deep::Box<char>::spoil(char\*, char) .*whole.cpp:[0-9]* (whole' whole.txt &&
		grep -q '^  main .*whole.cpp:[0-9]* (whole' whole.txt && [ ! -s err ]; } || fail "$1: $(cat report whole.txt err)"
}
c++ -O1 -g "$here/whole.cpp" -o whole || { fail "whole.cpp does not compile"; finish; }
main=$(nm whole | sed -n 's/^\([0-9a-f]*\) T main$/\1/p')
printf '  (whole+0x%x)\n' $((0x$main + 4)) | "$cli" symbolize -f ./whole | grep -q 'main .*whole.cpp' ||
	skip "the command was built without elfutils"
report t debug:FZU ./whole
judge "debug information"
# another build of the same name is passed over, wherever it comes first
grep -q '(whole+0x[0-9a-f]* [0-9a-f]\{16\})$' report && grep -q '(libc.so.6+0x[0-9a-f]* [0-9a-f]\{16\})$' report || fail "no build IDs: $(cat report)"
mkdir other && c++ -O2 -g "$here/whole.cpp" -o other/whole || fail "whole.cpp does not compile again"
"$cli" symbolize -f other/whole <report >whole.txt 2>err
cmp -s report whole.txt || grep -v '(libc' whole.txt | grep -q 'whole.cpp' && fail "a line of another build: $(cat whole.txt)"
grep -q 'other/whole is not the build that the report is of' err || fail "another build: $(cat err)"
PATH=$work/other:$work:$PATH "$cli" symbolize <report >whole.txt 2>err
judge "the second of two builds"
# names of Rust, its older mangling and its newer one; and one that is none
cat >rust.c <<'END'
void older(void) __asm__("_ZN4core3fmt5write17h0123456789abcdefE");
void newer(void) __asm__("_RNvCskwGfYPst2Cb_3foo16example_function");
void none(void) __asm__("_Rnone");
void older(void) { }
void newer(void) { }
void none(void) { }
int main(void) { }
END
cc -O0 rust.c -o rust || fail "rust.c does not compile"
for name in _ZN4core3fmt5write17h0123456789abcdefE=core::fmt::write _RNvCskwGfYPst2Cb_3foo16example_function=foo::example_function \
	_Rnone=_Rnone; do
	at=$(nm rust | sed -n "s/^\([0-9a-f]*\) T ${name%%=*}\$/\1/p")
	printf '  (rust+0x%x)\n' $((0x$at + 1)) | "$cli" symbolize -f ./rust >out
	grep -q "^  ${name#*=} " out || fail "$name: $(cat out)"
done
[ "$(grep -v '^  ' whole.txt)" = "$(grep -v '^  ' report)" ] || fail "other lines are changed"
# What faults is the instruction itself, not what is before a return address.
report r secure:1 ./whole
[ "$(sed -n '/^access by/,/^allocated/p' whole.txt | line_of)" = "$(line access)" ] || fail "line of an access: $(cat whole.txt)"

"$cli" run --symbolize --library "$lib" --conf debug:FZU -- ./whole t >out 2>whole.txt
[ $? = 134 ] && [ ! -s out ] || fail "run --symbolize: the exit status is lost"
judge "run --symbolize"
"$cli" run --symbolize --library "$lib" -- sh -c 'echo said >&2; exit 7' 2>whole.txt
[ $? = 7 ] && [ "$(cat whole.txt)" = said ] || fail "run --symbolize changes what others say: $(cat whole.txt)"
printf 'a\0b\nc\n\0\nd' >bytes
"$cli" symbolize bytes | cmp - bytes || fail "bytes that are no text are changed"
"$cli" symbolize "$work" >out 2>err
[ $? = 1 ] && [ ! -s out ] && grep -q "^drystone: symbolize: $work: Is a directory" err || fail "a folder: $(cat out err)"

objcopy --only-keep-debug whole lines.debug
strip whole
report t debug:FZU ./whole
grep -q 'whole.cpp' whole.txt && fail "a stripped program has lines: $(cat whole.txt)"
objcopy --add-gnu-debuglink=lines.debug whole
report t debug:FZU ./whole
judge "debug link"
if command -v dwz >/dev/null && c++ -O1 -g "$here/whole.cpp" -o whole && cp whole two; then
	objcopy --only-keep-debug whole lines.debug && objcopy --only-keep-debug two two.debug
	strip whole
	objcopy --add-gnu-debuglink=lines.debug whole
	if dwz -m common.debug -M common.debug lines.debug two.debug 2>/dev/null && [ -s common.debug ]; then
		report t debug:FZU ./whole
		judge dwz
	fi
fi
# libc's, by its build ID
[ -e /usr/lib/debug/.build-id ] && { grep -q '__libc_start_call_main .*\.h:[0-9]* (libc.so.6' whole.txt ||
	fail "build ID: $(grep libc whole.txt)"; }
# and when libc itself is gone
if [ -e /usr/lib/debug/.build-id ]; then
	sed 's/(libc.so.6+/(libgone.so.7+/' report | "$cli" symbolize -f ./whole >whole.txt 2>err
	grep -q '__libc_start_call_main .*\.h:[0-9]* (libgone.so.7' whole.txt || fail "build ID, no file: $(grep libgone whole.txt err)"
fi
# Linked statically, with a table for unwinding and, as Debian's gcc does it, without.
archive=$(dirname "$lib")/libdrystone.a
lib=
for flag in -Wl,--eh-frame-hdr -Wl,--no-eh-frame-hdr; do
	[ -e "$archive" ] && c++ -O1 -g -static $flag "$here/whole.cpp" -o whole_static "$archive" 2>/dev/null || continue
	report t debug:FZU ./whole_static
	judge "static program, $flag"
	[ "$(grep -c '^  _start .*(whole_static' whole.txt)" -ge 2 ] || fail "static program, $flag: stacks end early: $(cat whole.txt)"
done
finish
