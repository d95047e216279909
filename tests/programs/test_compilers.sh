#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# gcc and g++ write the same code, and programs built so run, with and without drystone.
# DRY_TEST_NO_NORSEQ: one thread each; those of test_scripting.sh have more, and the POSIX port has slots per thread.
. "$(dirname "$0")/common.inc"
need gcc g++
export TOP="$top"
same gcc 'set -e
	gcc -O2 -S -I "$TOP/include" -DDRY_BIN_TO_LIB=\"x\" -o - "$TOP/tools/drystone/walk.c"
	printf "#include <stdio.h>\nint main(void){puts(\"built\");return 0;}\n" > t.c
	gcc -O2 -g t.c -o t && ./t && cksum < t'
same g++ 'set -e
	g++ -std=c++17 -O1 -S -DINSTANCES=1 -o - "$TOP/scripts/demo.d/templates.cpp" | cksum
	printf "#include <map>\n#include <string>\n#include <iostream>\nint main(){std::map<std::string,int>m;for(int i=0;i<50000;i++)m[std::to_string(i*7919%%10007)]+=i;long s=0;for(auto&p:m)s=s*31+p.second;std::cout<<m.size()<<s<<std::endl;}\n" > t.cc
	g++ -O1 t.cc -o t && ./t'
finish
