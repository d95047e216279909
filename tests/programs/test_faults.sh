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

# ... also where the default is given back as a handler with three arguments would be set
cat >"$work/default.c" <<'END'
#include <signal.h>
int main(int count, char **arguments)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO };
	sigaction(SIGBUS, &action, 0);
	sigaction(SIGSEGV, &action, 0);
	(void)arguments;
	return count > 1 ? raise(SIGBUS) : *(volatile int *)16;
}
END
"${CC:-cc}" -O0 -w "$work/default.c" -o "$work/default"
for conf in abort:1 guard:1 secure:1; do
	(LD_PRELOAD=$lib DRYSTONE_CONF=$conf exec "$work/default" bus) 2>"$work/err"
	[ $? = 135 ] || fail "$conf: raise(SIGBUS) by default: $(cat "$work/err")"
	(LD_PRELOAD=$lib DRYSTONE_CONF=$conf exec "$work/default") 2>"$work/err"
	[ $? = 139 ] || fail "$conf: a fault by default: $(cat "$work/err")"
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
# What a log has no room for is said on standard error.
LD_PRELOAD=$lib DRYSTONE_CONF=check:1,log:/dev/full "$work/twice" 2>"$work/err"
grep -q '^drystone: double free: 0x' "$work/err" && grep -q '^  main+0x' "$work/err" || fail "a full log: $(cat "$work/err")"
# Reports are kept out of what the program opens once it has closed all that it did not open.
cat >"$work/closes.c" <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
char *volatile block;
int main(int argc, char **argv)
{
	struct stat file;
	(void)argc;
	block = malloc(64);
	free(block);
	if (close_range(3, ~0u, 0) != 0)
		return 2;
	for (int fd = 3; fd < 100; fd = open(argv[1], O_WRONLY | O_CREAT, 0600))
		if (fd < 0)
			return 3;
	block = malloc(64);
	free(block + 8);
	return stat(argv[1], &file) != 0 ? 4 : file.st_size != 0;
}
END
"${CC:-cc}" -O0 -fno-builtin -w "$work/closes.c" -o "$work/closes"
for conf in log:$work/closed.log,none:1 stats:1,leaks:1,debug:U; do
	status=0
	LD_PRELOAD=$lib DRYSTONE_CONF=$conf,abort:0,check:1 "$work/closes" "$work/own" 2>"$work/err" >"$work/out" || status=$?
	[ $status = 0 ] || fail "$conf: status $status: $(cat "$work/own")"
	[ ! -s "$work/own" ] || fail "$conf: written into the program's file: $(cat "$work/own")"
	cat "$work/err" "$work/closed.log" 2>/dev/null >"$work/all"
	grep -q '^drystone: pointer into the middle of an object' "$work/all" || fail "$conf: no report: $(cat "$work/all")"
	rm -f "$work/closed.log" "$work/own"
done

# What programs see of their handlers, and how they end. The port to POSIX does not stand in for sigaction().
own_handlers() {
	"${CC:-cc}" -O1 "$(dirname "$0")/faults.c" -o "$work/faults"
	seen() {
		for how in 0 1 2 4 5 8 10 12 16 20 26 31; do
			status=0
			"$@" "$work/faults" $how 2>/dev/null || status=$?
			echo "$how: $status"
		done
	}
	seen env >"$work/plain"
	grep -q 'signal 11, code 1, right place, stack 1, mask 11, context 1' "$work/plain" || fail "no faults: $(cat "$work/plain")"
	for conf in abort:1 guard:1 secure:1; do
		seen env LD_PRELOAD="$lib" DRYSTONE_CONF=$conf >"$work/with"
		cmp -s "$work/plain" "$work/with" || fail "$conf: $(diff "$work/plain" "$work/with")"
	done

	# signal() as ISO C's headers alone have it, which is System V's
	cat >"$work/iso.c" <<'END'
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile char *nothing;
static void told(int number)
{
	if (write(1, number == SIGSEGV ? "SEGV\n" : "?\n", number == SIGSEGV ? 5 : 2) < 0)
		_exit(1);
}
int main(void)
{
	printf("%d", signal(SIGSEGV, SIG_IGN) == SIG_DFL);
	printf("%d", signal(SIGSEGV, SIG_DFL) == SIG_IGN);
	printf("%d", signal(SIGUSR1, told) == SIG_DFL);
	printf("%d\n", signal(SIGSEGV, told) == SIG_DFL);
	fflush(stdout);
	*nothing = 1; /* once more, and then it is the default */
	return 0;
}
END
	"${CC:-cc}" -std=c11 -D_POSIX_C_SOURCE=200809L -O1 -Wno-null-dereference "$work/iso.c" -o "$work/iso"
	iso() {
		status=0
		"$@" "$work/iso" 2>/dev/null || status=$?
		echo "$status"
	}
	iso env >"$work/plain"
	[ "$(tr '\n' ' ' <"$work/plain")" = "1111 SEGV 139 " ] || fail "not System V's: $(cat "$work/plain")"
	for conf in abort:1 guard:1 secure:1; do
		iso env LD_PRELOAD="$lib" DRYSTONE_CONF=$conf >"$work/with"
		cmp -s "$work/plain" "$work/with" || fail "signal(), $conf: $(diff "$work/plain" "$work/with")"
	done

	# run times with handlers of their own: the status, and whether their own report is there
	cat >"$work/Crash.java" <<'END'
public class Crash {
	public static void main(String[] none) throws Exception {
		Class<?> unsafe = Class.forName("sun.misc.Unsafe");
		java.lang.reflect.Field field = unsafe.getDeclaredField("theUnsafe");
		field.setAccessible(true);
		unsafe.getMethod("putAddress", long.class, long.class).invoke(field.get(null), 16L, 0L);
	}
}
END
	crash() {
		status=0
		"$@" >"$work/err" 2>&1 || status=$?
		echo "$status $(grep -c 'BUG. Segmentation\|# A fatal error has been detected\|# An error report file' "$work/err")"
	}
	crashes() {
		if command -v ruby >/dev/null && ruby -e 'require "fiddle"' 2>/dev/null; then
			crash "$@" ruby -e 'require "fiddle"; Fiddle::Pointer.new(16)[0, 1] = "x"'
		fi
		if command -v java >/dev/null && [ -f "$work/Crash.class" ]; then
			crash "$@" java -Xmx64m -XX:+UseSerialGC -XX:ErrorFile="$work/hs_err" -cp "$work" Crash
		fi
	}
	if command -v javac >/dev/null; then
		javac -Xlint:none -d "$work" "$work/Crash.java" 2>/dev/null || true
	fi
	crashes env >"$work/plain"
	for conf in guard:1 secure:1; do
		crashes env LD_PRELOAD="$lib" DRYSTONE_CONF=$conf >"$work/with"
		cmp -s "$work/plain" "$work/with" || fail "$conf: run times: $(diff "$work/plain" "$work/with")"
	done
}
case ${GLIBC_TUNABLES:-}$lib in
*rseq=0* | */posix/*) ;;
*) own_handlers ;;
esac
finish
