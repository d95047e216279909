#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# Help, manual pages and completions say what the command has, and are well-formed.
# DRY_TEST_NO_NORSEQ, DRY_TEST_NO_POSIX: it is about the command.
. "$(dirname "$0")/common.inc"
need python3 readelf
folder=$(dirname "$cli")
# options COMMAND: the long ones, of its help
options() { "$cli" help "$1" | sed -n 's/^  -., \(--[a-z]*\).*/\1/p'; }

"$cli" --help >"$work/help" || fail "--help"
"$cli" help | cmp -s - "$work/help" || fail "help and --help differ"
commands=$(sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' "$work/help")
[ "$(echo $commands)" = 'run info top profile map diff doctor symbolize experiment help' ] || fail "commands: $commands"
for command in run info top profile map diff doctor symbolize experiment; do
	"$cli" help $command >"$work/one" && "$cli" $command --help >"$work/two" && cmp -s "$work/one" "$work/two" ||
		fail "help $command and $command --help differ"
	grep -qi "^usage: drystone $command " "$work/one" || fail "help $command: $(head -n 1 "$work/one")"
	[ "$(awk 'length > 100' "$work/one" | wc -l)" = 0 ] || fail "help $command: lines are long"
done
for one in help --help -h; do
	"$cli" help $one | cmp -s - "$work/help" || fail "help $one"
done
"$cli" help nonsense 2>"$work/err"
[ $? = 2 ] && grep -q 'no command "nonsense"' "$work/err" || fail "help nonsense: $(cat "$work/err")"
"$cli" experiment >"$work/out" 2>"$work/err"
[ $? = 2 ] && [ ! -s "$work/out" ] && grep -q '^usage: drystone experiment ' "$work/err" || fail "experiment without a name: $(cat "$work/out" "$work/err")"

# output that does not get out is no success; who shuts the pipe is told nothing
printf 'heap profile: 1: 64 [1: 64] @ heap_v2/512\n1: 64 [1: 64] @ 0x10\n' >"$work/profile"
echo report >"$work/report"
lost() { # lost STATUS ARGUMENT...
	status=$1
	shift
	"$cli" "$@" >/dev/full 2>"$work/err"
	[ $? = "$status" ] && [ "$(grep -c '^drystone: standard output: ' "$work/err")" = 1 ] || fail "$* on a full disk: $(cat "$work/err")"
	"$cli" "$@" >&- 2>"$work/err"
	[ $? = "$status" ] && grep -q '^drystone: standard output: ' "$work/err" || fail "$*, standard output closed: $(cat "$work/err")"
	python3 -c 'import os, signal, subprocess, sys
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
ends = os.pipe()
os.close(ends[0])
sys.exit(subprocess.run(sys.argv[1:], stdout=ends[1], restore_signals=False).returncode)' "$cli" "$@" 2>"$work/err" &&
		[ ! -s "$work/err" ] || fail "$*, a pipe that is shut: $(cat "$work/err")"
}
lost 1 --help
lost 1 --version
lost 1 help info
lost 125 run --help
lost 1 info --keys
lost 1 profile "$work/profile"
lost 1 diff "$work/profile" "$work/profile"
lost 1 symbolize "$work/report"
lost 1 doctor
"$cli" --help >/dev/full 2>"$work/err"
grep -q '^drystone: standard output: No space left on device$' "$work/err" || fail "a full disk: $(cat "$work/err")"
# who prints nothing needs none
"$cli" run --library "$lib" --profile "$work/profile.txt" -- true >&- 2>"$work/err" || fail "run without standard output: $(cat "$work/err")"

# manual pages: of each command with all its options, of each key, of each function
for command in run info top profile map diff doctor symbolize; do
	sed 's/\\-/-/g' "$top/man/drystone-$command.1" >"$work/page" || fail "no page of $command"
	for option in $(options $command); do
		grep -q -e "$option" "$work/page" || fail "drystone-$command(1) does not have $option"
	done
	[ "$(options $command | wc -l)" -ge 2 ] || fail "help $command has no options"
	sed -n 's/^\.BR* .*\(--[a-z]*\).*/\1/p' "$work/page" | sort -u >"$work/said"
	options $command | sort | comm -13 - "$work/said" >"$work/more"
	[ ! -s "$work/more" ] || fail "drystone-$command(1) has what the command has not: $(cat "$work/more")"
done
"$cli" info --keys | while read -r key meaning; do
	grep -A 1 -x -e ".B $key" "$top/man/drystone-info.1" | grep -q -F -x -e "$meaning" || echo "$key"
done >"$work/missing"
[ ! -s "$work/missing" ] || fail "drystone-info(1) does not have the keys $(tr '\n' ' ' <"$work/missing")"
readelf -W --dyn-syms "$lib" | awk '$7 != "UND" && $8 ~ /^dry_/ { print $8 }' >"$work/exported"
while read -r name; do
	grep -q "[ *]$name(" "$top"/include/drystone/drystone.h || continue
	[ -f "$folder/man/$name.3" ] || [ -f "$top/man/$name.3" ] || fail "no page of $name"
	echo "$name" >>"$work/public"
done <"$work/exported"
[ "$(wc -l <"$work/public")" -ge 25 ] || fail "only $(wc -l <"$work/public") public functions"
grep -q '^dry_alloc, dry_zalloc' "$folder/man/dry_zalloc.3" || fail "dry_zalloc(3) does not name both"
grep -q 'size_t slabs;' "$folder/man/dry_cache_stats.3" || fail "dry_cache_stats(3) does not have the structure"
for page in "$top"/man/*.[137] "$folder"/man/*.3; do
	if command -v mandoc >/dev/null; then
		mandoc -T lint -W warning "$page" 2>&1
	else
		groff -man -ww -z "$page" 2>&1
	fi
done | grep -v 'missing date, using ""' >"$work/lint"
[ ! -s "$work/lint" ] || fail "manual pages: $(head -n 5 "$work/lint")"

# completions
PATH=$folder:$PATH
export PATH
# completes WANTED WORD...: among what bash gives for the last word
completes() {
	wanted=$1
	shift
	bash --norc -c '. "$0"
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_drystone
printf "%s\n" "${COMPREPLY[@]}"' "$top/completions/drystone.bash" "$@" >"$work/out" 2>"$work/err"
	[ ! -s "$work/err" ] && grep -q -x -e "$wanted" "$work/out" ||
		fail "bash completes \"$*\" by: $(head -n 5 "$work/out" "$work/err") instead of $wanted"
}
if command -v bash >/dev/null; then
	completes info drystone in
	completes doctor drystone help do
	completes --openmetrics drystone info --o
	completes live_bytes drystone info --sort li
	completes bytes,growth drystone info -o bytes,gr
	completes tiny drystone run --allocator t
	completes env drystone run --conf x -- en
	completes env drystone doctor en
	completes --snapshots drystone map --sn
	completes --html drystone map -
	completes census drystone experiment ce
	for command in run info top profile map diff doctor symbolize; do
		for option in $(options $command); do completes "$option" drystone $command --; done
	done
fi
if command -v fish >/dev/null; then
	export HOME="$work"
	for line in 'drystone in=info' 'drystone help do=doctor' 'drystone info --open=--openmetrics' 'drystone info --sort li=live_bytes' \
		'drystone run --allocator ti=tiny' 'drystone run gre=grep' 'drystone map --ht=--html'; do
		fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$top/completions/drystone.fish" "${line%%=*}" 2>&1 |
			cut -f 1 >"$work/out"
		grep -q -x -e "${line#*=}" "$work/out" || fail "fish completes \"${line%%=*}\" by: $(head -n 5 "$work/out")"
	done
fi
if command -v zsh >/dev/null; then
	cat >"$work/type.zsh" <<'END'
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "fpath=($1 \$fpath); autoload -U compinit; compinit -u -D; echo READY''X"
zpty -r z out '*READYX*'
for line word in in info 'help do' doctor 'info --openm' openmetrics 'info --sort liv' live_bytes 'map --sn' snapshots 'run --alloc' allocator 'run --allocator ti' tiny; do
	echo "drystone $line"
	zpty -wn z "drystone $line"$'\t'
	zpty -r z out "*$word*"
	zpty -wn z $'\x15'
done
echo all
END
	timeout 60 zsh -f "$work/type.zsh" "$top/completions" >"$work/out" 2>&1
	[ "$(tail -n 1 "$work/out")" = all ] || fail "zsh does not complete: $(tail -n 1 "$work/out")"
fi
finish
