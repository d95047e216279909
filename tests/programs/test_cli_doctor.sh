#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# drystone doctor: programs and processes that drystone serves, and for each reason one that it does not serve.
# DRY_TEST_NO_NORSEQ, DRY_TEST_NO_POSIX: it is about the command.
. "$(dirname "$0")/common.inc"
need python3 cc
ulimit -c 0
# found LEVEL KEY ARGUMENT...: `doctor ARGUMENT...` says this; status 1 if drystone does not serve it
found() {
	level=$1 key=$2
	shift 2
	"$cli" doctor --json "$@" >"$work/out" 2>"$work/err"
	status=$?
	python3 -c 'import json, sys
level, key, status = sys.argv[1:]
report = json.load(open(0))
assert report["served"] == all(f["level"] != "no" for f in report["findings"]), report
assert int(status) == (0 if report["served"] else 1), status
assert level != "no" or not report["served"], report
assert (level, key) in [(f["level"], f["key"]) for f in report["findings"]], report' "$level" "$key" "$status" \
		<"$work/out" 2>"$work/why" || fail "no \"$level $key\" for $*: $(tail -n 1 "$work/why") $(cat "$work/err")"
}
cd "$work" || exit 1
cat >plain.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	free(malloc(100));
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
END
cc -O1 -fno-builtin plain.c -o plain
cc -O1 -fno-builtin -static plain.c -o static
cc -O1 -fno-builtin -rdynamic "$here/own_malloc.c" -o exported
cc -O1 -fno-builtin -fvisibility=hidden "$here/own_malloc.c" -o own
cc -O1 plain.c -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1 -o musl
cc -O1 plain.c -L"$(dirname "$lib")" -Wl,--no-as-needed "$lib" -o linked
echo 'int mallctl(void) { return 0; } int main(void) { return mallctl(); }' >inside.c
cc -O1 inside.c -o inside

found ok preload ./plain
found no static ./static
found no own-malloc ./exported
found no own-malloc ./own
found note own-allocator ./inside
found no musl ./musl
found ok preload ./linked
if cc -fsanitize=address plain.c -o asan 2>/dev/null; then found no sanitizer ./asan; fi
if cc -fsanitize=address -static-libasan plain.c -o asan 2>/dev/null; then found no sanitizer ./asan; fi
jemalloc=$(ls /usr/lib/*/libjemalloc.so.2 2>/dev/null | head -n 1)
if [ -n "$jemalloc" ]; then
	cc plain.c -Wl,--no-as-needed "$jemalloc" -o jemalloc && found note replaced ./jemalloc
fi
# of another processor, of another width: byte 18 is the low one of e_machine, byte 4 the class
for patch in '18 \363' '4 \001'; do
	cp plain other
	printf "${patch#* }" | dd of=other bs=1 seek="${patch% *}" conv=notrunc status=none
	found no architecture ./other
done
if [ "$(id -u)" = 0 ]; then
	cp plain raised
	chown 65534 raised
	chmod u+s raised
	found no setuid ./raised
	# root has the capabilities of a file without it
	cp plain capable
	if command -v setpriv >/dev/null && python3 -c 'import os, struct
os.setxattr("capable", "security.capability", struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0))' 2>/dev/null; then
		found ok preload ./capable
		! grep -q capabilities out || fail "capabilities are nothing to root: $(cat out)"
		cp "$cli" "$lib" .
		chmod 755 . drystone
		printf '#!/bin/sh\nexec setpriv --reuid 65534 --regid 65534 --clear-groups ./drystone "$@"\n' >other
		chmod 755 other
		(cli=./other failures=0 && found no capabilities ./capable && [ $failures = 0 ]) || fail "capabilities of another's"
	fi
fi
printf '#!%s/plain\n' "$work" >script
printf '#!/usr/bin/env -S ./static -x\n' >env-script
printf '#!%s/loop\n' "$work" >loop
printf 'text\n' >text
chmod +x script env-script loop text
found ok script ./script
found ok preload ./script
found no static ./env-script
found no file ./loop
found no file ./text
: >empty
chmod +x empty
found no file ./empty
head -c 200 plain >cut
chmod +x cut
"$cli" doctor ./cut >out 2>err
[ $? -le 1 ] || fail "a program that is cut: $(cat err)"

# names that are no text
cp plain "$(printf 'pl\377\303\274ain')"
found ok preload "$(printf './pl\377\303\274ain')"
python3 -c 'import sys; sys.exit("pl?\u00fcain" not in open(sys.argv[1], encoding="utf-8").read())' out || fail "a name that is no text: $(cat out)"

# libraries that are named by where the program lies: there is where a link to it leads; and one that is gone
mkdir bin lib
echo 'int f(void) { return 0; }' >f.c
echo 'int f(void); int main(void) { return f(); }' >m.c
cc -shared -fPIC f.c -o lib/libf.so
cc m.c -o bin/m -Llib -lf -Wl,-rpath,'$ORIGIN/../lib'
ln -s bin/m link
found ok preload ./link
found ok preload bin/m
rm lib/libf.so
found no missing ./link
"$cli" doctor ./link | grep -q 'a library is missing, .*: libf.so => not found$' || fail "a missing library: $("$cli" doctor ./link)"

# the text, and calls that make no sense
"$cli" doctor ./plain >out 2>err || fail "text: $(cat err)"
tail -n 1 out | grep -q '^`drystone run` would serve ./plain$' || fail "text: $(tail -n 1 out)"
"$cli" doctor ./static >out && fail "a static program is served"
tail -n 1 out | grep -q '^`drystone run` would not serve ./static$' || fail "text: $(tail -n 1 out)"
"$cli" doctor ./nothing >out 2>err && fail "no program"
grep -q '^drystone: doctor: cannot read ./nothing' err || fail "no program: $(cat err)"
"$cli" doctor no-such-program-anywhere 2>err && fail "no program"
"$cli" doctor ./ >out 2>err && fail "a folder"
[ ! -s out ] && grep -q '^drystone: doctor: cannot read ./: Is a directory$' err || fail "a folder: $(cat out err)"
"$cli" doctor '' >out 2>err && fail "an empty name"
[ ! -s out ] && grep -q '^drystone: doctor: no program ""$' err || fail "an empty name: $(cat out err)"
"$cli" doctor 4194305 2>err && fail "no process"
grep -q '^drystone: no process 4194305$' err || fail "no process: $(cat err)"
"$cli" doctor 1 2 2>err
[ $? = 2 ] || fail "two arguments"

# processes
start() {
	: >said
	"$@" >said 2>child.err &
	child=$!
	children="$children $child"
	for _ in $(seq 2000); do grep -q ready said && return || sleep 0.02; done
	fail "$* did not start: $(cat child.err)"
}
stop() {
	kill -9 "$child"
	wait "$child" 2>/dev/null
}
start env LD_PRELOAD="$lib" ./plain
found ok loaded "$child"
found ok serves "$child"
"$cli" doctor "$child" | tail -n 1 | grep -q "^drystone serves process $child\$" || fail "text of a process"
stop
start env LD_PRELOAD="$lib" ./exported
found no serves-nothing "$child"
stop
start env LD_PRELOAD="$lib" ./static
found no not-loaded "$child"
found no static "$child"
stop
# a library that was opened so that its own libraries come first
echo '#include <stdlib.h>
void *f(void); void *f(void) { return malloc(10); }' >deep.c
sed 's/free(malloc(100));/void *(*f)(void) = dlsym(dlopen(".\/deep.so", RTLD_NOW | RTLD_DEEPBIND), "f"); if (!f || !f()) abort(); free(malloc(100));/
1i #define _GNU_SOURCE\n#include <dlfcn.h>' plain.c >opens.c
cc -shared -fPIC deep.c -o deep.so && cc opens.c -o opens || fail "deep.so does not compile"
start env LD_PRELOAD="$lib" ./opens
found ok serves "$child"
! grep -q passed-by out || fail "deep.so has the library's malloc: $(cat out)"
stop
start env LD_PRELOAD="$lib" DRYSTONE_CONF=deepbind:1 ./opens
found ok serves "$child"
found note passed-by "$child"
grep -q 'deep.so calls malloc in libc' out || fail "deep.so: $(cat out)"
stop

# the machine
found ok kernel
(ulimit -v 4000000 && failures=0 && found note ulimit-v && [ $failures = 0 ]) || fail "ulimit -v"
GLIBC_TUNABLES=glibc.pthread.rseq=0 "$cli" doctor >out
grep -q 'note .*no restartable sequences' out || fail "rseq switched off: $(cat out)"
# a filter that refuses membarrier: the arrays stay as they are
cat >refused.c <<'END'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
	if (argc > 1 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
		execv(argv[1], argv + 1);
	return 1;
}
END
cc -O1 refused.c -o refused || fail "refused.c does not compile"
./refused "$cli" doctor >out
arrays='one set of arrays per thread'
! grep -q 'ok .*one set of arrays per CPU' out || arrays='arrays of other CPUs cannot be emptied'
grep -q "note .*no membarrier .*: $arrays\$" out || fail "membarrier refused: $(cat out)"
GLIBC_TUNABLES=glibc.pthread.rseq=0 ./refused "$cli" doctor >out
grep -q 'note .*no membarrier .*: one set of arrays per thread$' out || fail "membarrier and rseq refused: $(cat out)"

# grouped WANTED LIST FILE LIMIT: this is said where the kernel lists these control groups and there is one with a limit
cat >inside <<'END'
mount --bind list "/proc/$$/cgroup" && mount -t tmpfs tmpfs /sys/fs/cgroup || exit 3
mkdir -p "/sys/fs/cgroup/${1%/*}" && echo "$2" >"/sys/fs/cgroup/$1" && exec "$3" doctor
END
grouped() {
	printf "$2" >list
	unshare -m sh ./inside "$3" "$4" "$cli" >out 2>err && grep -q "$1" out ||
		fail "a limit of $4 in $3: $(grep group out) $(cat err)"
}
if unshare -m mount -t tmpfs tmpfs /sys/fs/cgroup 2>err; then
	while read -r list file; do
		grouped 'note .*its control group is limited to 100M of memory$' "$list" "$file" 104857600
	done <<'END'
0::/a/b\n a/b/memory.max
0::/a/b\n a/memory.max
0::/not/seen\n ./memory.max
5:cpu,cpuacct:/a\n4:hugetlb,memory:/x/y\n0::/\n memory/x/memory.limit_in_bytes
4:memory:/not/seen\n memory/memory.limit_in_bytes
4:memory:/x\n0::/z\n unified/z/memory.max
END
	grouped 'ok .*no limit of memory' '4:memory:/x\n0::/\n' memory/x/memory.limit_in_bytes 9223372036854771712
	grouped 'ok .*no limit of memory' '4:memoryless,nomemory:/x\n' memory/x/memory.limit_in_bytes 104857600
else
	echo "note: no namespaces (unshare); control groups were not tested"
fi
finish
