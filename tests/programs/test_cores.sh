#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# A core file of a program that ends by a fault of its own, or a signal that is sent, shows what it does without the library: the
# signal, its code, address or sender, where it was, its registers, the frames. DRY_TEST_NO_POSIX: it does not stand in for sigaction().
# DRY_TEST_NO_NORSEQ: it is about signals.
. "$(dirname "$0")/common.inc"
need gdb "${CC:-cc}"
case $(cat /proc/sys/kernel/core_pattern 2>/dev/null) in core | core.%p) ;; *) skip "core files go elsewhere" ;; esac
(ulimit -c 32768) 2>/dev/null || skip "core files are not allowed"
"${CC:-cc}" -g -O0 -no-pie -pthread "$here/cores.c" -o "$work/cores" || fail "cores.c does not compile"

# dump NAME ARGUMENT...: what gdb sees in the core, in $work/NAME; it is never bigger than 16 MiB, and goes at once
dump() {
	name=$1
	shift
	status=$( (cd "$work" && ulimit -c 32768 && "$@" >"$work/out" 2>&1; echo $?) 2>/dev/null)
	core=$(ls "$work"/core "$work"/core.[0-9]* 2>/dev/null | head -n 1)
	[ -n "$core" ] || {
		fail "$*: no core: $(cat "$work/out")"
		return
	}
	gdb -nx -batch -ex 'printf "signal %d, code %d\n", $_siginfo.si_signo, $_siginfo.si_code' \
		-ex 'printf "address or sender %p\n", $_siginfo._sifields._sigfault.si_addr' -ex 'info registers' -ex bt \
		"$work/cores" "$core" >"$work/gdb" 2>&1
	rm -f "$core"
	# Not compared: addresses of libraries, blocks and stacks, which are longer than those of the program; what functions
	# of libc left in registers that nobody keeps. A number of the process or thread is compared with its own.
	read -r process thread <"$work/out"
	{
		echo "status $status"
		sed -n '/^Program terminated/,$p' "$work/gdb" | grep -E '^Program|^signal|^address|^(rax|rbx|rdx|r1[2-5]|rip|rbp|rsp|eflags|#[0-9]*) ' |
			sed -E "s/0x[0-9a-f]{7,}/0x*/g; s/$process\b/PROCESS/; s/$thread\b/THREAD/; s/^(r[a-z0-9]+ +[^ ]+ ).*/\1/; s/:[0-9]+\$//"
	} >"$work/$name"
}

for how in write jump bus sent "write thread"; do
	# shellcheck disable=SC2086 # two words
	dump plain env "$work/cores" $how
	grep -q '^signal [0-9]*, code' "$work/plain" && grep -q ' walk (' "$work/plain" || fail "$how: no frames: $(cat "$work/plain" "$work/gdb")"
	for conf in guard:1 secure:1 abort:1; do
		[ $conf != abort:1 ] || [ "$how" = write ] || [ "$how" = sent ] || continue
		# shellcheck disable=SC2086
		dump with env LD_PRELOAD="$lib" DRYSTONE_CONF=$conf "$work/cores" $how
		cmp -s "$work/plain" "$work/with" || fail "$how, $conf: $(diff "$work/plain" "$work/with")"
	done
done
finish
