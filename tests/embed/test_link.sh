#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# The built libraries in every way to link them: replaced operators and malloc, -static, static-pie, LTO, dlopen,
# plug-ins with a copy of their own. BUILD is the folder; CC and CXX.
. "$(dirname "$0")/common.inc"
cc="${CC:-cc} -O1 -Wall -Wextra -Werror -fno-builtin -I$root/include"
cxx="${CXX:-c++} -std=c++17 -O1 -Wall -Wextra -Werror -Wno-sized-deallocation -fno-builtin"
with="$build/libdrystone.a"
without="$build/libdrystone-noverride.a"
shared="-L$build -Wl,-rpath,$build -ldrystone"
try() { # try NAME PROGRAM ARGUMENT...
	name=$1
	shift
	"$@" >"$work/log" 2>&1 || fail "$name: exit status $?"
	[ -s "$work/log" ] || fail "$name says nothing"
	echo "ok: $name"
}

# Who calls malloc gets drystone's from the one and libc's from the other.
$cc "$here/program.c" "$with" -o "$work/with"
$cc "$here/program.c" "$without" -o "$work/without"
$cc "$here/program.c" -L"$build" -Wl,-rpath,"$build" -ldrystone-noverride -o "$work/without-shared"
try "the archive replaces malloc" "$work/with" override
try "the archive without override leaves it alone" "$work/without" library
try "so does the shared library without override" "$work/without-shared" library

# The default heap where there is no memory for it yet: its calls say so, and it is made later.
cat >"$work/unmade.c" <<'E'
#include <drystone/drystone.h>
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
static struct rlimit old;
__attribute__((constructor(101))) static void before_the_library(void)
{
	getrlimit(RLIMIT_AS, &old);
	setrlimit(RLIMIT_AS, &(struct rlimit){ 0, old.rlim_max });
}
int main(void)
{
	struct dry_heap_stats stats;
	dry_heap *heap = dry_heap_default();
	int wrong = heap == NULL || dry_alloc(NULL, 16) != NULL || dry_alloc(heap, 16) != NULL || errno != ENOMEM ||
		    dry_cache_create(heap, &(struct dry_cache_attr){ .name = "item", .size = 24 }) != NULL ||
		    dry_heap_stats(heap, &stats) != -ENOMEM || dry_heap_trim(heap) != 0 || dry_heap_check(heap) > 0;
	dry_free(heap, NULL);
	dry_heap_reap(heap);
	setrlimit(RLIMIT_AS, &old);
	void *block = dry_alloc(heap, 16);
	wrong |= block == NULL || dry_usable_size(heap, block) < 16;
	dry_free(NULL, block);
	return puts(wrong ? "wrong" : "made later") < 0 || wrong;
}
E
$cc "$work/unmade.c" "$without" -o "$work/unmade"
try "the default heap, made later" "$work/unmade"

$cc -static "$here/program.c" "$with" -o "$work/static"
$cc -static-pie -fPIE "$here/program.c" "$with" -o "$work/static-pie"
$cc -static "$here/program.c" "$without" -o "$work/static-without"
readelf -lW "$work/static" | grep -q INTERP && fail "-static: a program with an interpreter"
readelf -hW "$work/static-pie" | grep -q 'DYN' || fail "static-pie: not position-independent"
try "-static" "$work/static" override
try "static-pie" "$work/static-pie" override
try "-static, without override" "$work/static-without" library
$cc -flto -O2 "$here/program.c" "$with" -o "$work/lto"
try "a program optimised at link time" "$work/lto" override

for which in ALL ONE; do
	$cxx -D$which "$here/link/operators.cpp" "$with" -o "$work/operators"
	$cxx -D$which "$here/link/operators.cpp" -static "$with" -o "$work/operators-static"
	# shellcheck disable=SC2086 # flags are words
	$cxx -D$which "$here/link/operators.cpp" -Wl,--no-as-needed $shared -o "$work/operators-shared"
	for kind in operators operators-static operators-shared; do
		try "own operators new and delete, $which, $kind" "$work/$kind"
	done
done
$cc -Wno-error "$here/link/malloc.c" "$with" -o "$work/malloc"
try "own malloc" "$work/malloc"
# The linker takes from a static C++ library what is asked for: to throw is not, where new alone would.
cat >"$work/throws.cpp" <<'E'
#include <cstdio>
#include <new>
volatile std::size_t absurd = static_cast<std::size_t>(-1) / 2 - 99;
int main()
{
	try {
		void *volatile block = ::operator new(absurd);
		::operator delete(block);
	} catch (const std::bad_alloc &) {
		return std::puts("caught") < 0;
	}
	return 1;
}
E
$cxx -static "$work/throws.cpp" "$with" -Wl,-u,_ZSt17__throw_bad_allocv -o "$work/throws"
try "a failing new in a static program" "$work/throws"

$cc "$here/link/load.c" -ldl -o "$work/load"
try "dlopen" "$work/load" "$build/libdrystone.so"
try "dlopen, without override" "$work/load" "$build/libdrystone-noverride.so"

for plugin in one two; do
	$cc -shared -fPIC "$here/link/plugin.c" "$without" -Wl,--exclude-libs,ALL -Wl,-z,nodelete -o "$work/$plugin.so"
	[ "$(nm -D --defined-only "$work/$plugin.so" | grep -c ' dry_')" = 0 ] || fail "a plug-in shows its copy"
done
$cc "$here/link/host.c" "$with" -ldl -lpthread -rdynamic -o "$work/host"
try "plug-ins with copies of their own" "$work/host" "$work/one.so" "$work/two.so"
