# SPDX-License-Identifier: MIT OR GPL-2.0-only
# Compiler flags, as lists: dry_warnings for every C file, dry_code for the library's.

set(dry_warnings -Wall -Wextra -Wshadow $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>)
if(CMAKE_C_COMPILER_ID MATCHES "Clang")
	# A cache ends in its nodes; the one inside of a heap is followed by room for them.
	# A pragma may name a warning that only gcc has.
	list(APPEND dry_warnings -Wno-gnu-variable-sized-type-not-at-end -Wno-unknown-warning-option)
endif()
if(DRY_WERROR)
	list(APPEND dry_warnings -Werror)
endif()
# What a project around it asks for its own code, as add_compile_options(-Wconversion -Werror), is not for ours.
if(NOT dry_top_level)
	set(dry_warnings -w -Wno-pedantic)
endif()

# Compilers know malloc and may turn malloc+memset into calloc (endless recursion inside of calloc),
# or drop a pair whose result is not used (a test that tests nothing).
set(dry_no_builtin_malloc -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free
	-fno-builtin-aligned_alloc)

# One compilation serves both libraries. The library is always loaded at start (link or preload),
# so its thread-local data may lie in the initial block: no call to reach it.
set(dry_code -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-semantic-interposition -fno-strict-aliasing -falign-functions=64)

# Variables apart, for the linker to sort (cmake/library.cmake).
list(APPEND dry_code -fdata-sections)

# Reports of the debugging walk stacks by their frame pointers (so does perf); the hit path is of leaves, which have none.
include(CheckCCompilerFlag)
# The layers become one object of machine code (cmake/library.cmake), also in a project that is optimised as a whole.
list(APPEND dry_code -fno-lto)
# The sequences need values that a compiler knows; it does once it optimises at all.
string(TOUPPER "${CMAKE_BUILD_TYPE}" dry_type)
if(NOT " ${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${dry_type}}" MATCHES " -O[1-9sgf]")
	list(APPEND dry_code -O1)
endif()
list(APPEND dry_code -fno-omit-frame-pointer -DDRY_FRAME_POINTERS)
check_c_compiler_flag(-momit-leaf-frame-pointer dry_leaf_frames)
if(dry_leaf_frames)
	list(APPEND dry_code -momit-leaf-frame-pointer)
endif()

set(dry_lines -g)
if(DRY_SANITIZE) # reports name lines; to write down variables, too, takes a third of the time of a build
	set(dry_lines -g1)
endif()
set(CMAKE_C_FLAGS_DEBUG "-O1 ${dry_lines}")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 ${dry_lines}")
if(DRY_SECURE)
	add_compile_definitions(DRY_SECURE)
endif()
if(DRY_DEBUG)
	add_compile_definitions(DRY_DEBUG)
	# Undefined behaviour of the library traps: that needs nothing at run time, so it goes with the malloc override, too.
	if(NOT DRY_SANITIZE)
		list(APPEND dry_code -fsanitize=undefined -fsanitize-undefined-trap-on-error)
	endif()
endif()

# Of what only tests are made of: as good for a test, in half the time. Reports name lines there, too; nobody asks for variables.
set(dry_test_code -O1)
if("${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${dry_type}}" MATCHES "(^| )-g")
	list(APPEND dry_test_code -g1)
endif()

set(dry_sanitize_flags "")
if(DRY_SANITIZE)
	set(dry_sanitize_flags -fsanitize=${DRY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
	if(DRY_SANITIZE MATCHES "thread" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
		list(APPEND dry_sanitize_flags -Wno-tsan)
	endif()
	add_compile_options(${dry_sanitize_flags})
	# Our tests look at the library as it runs unwatched, with its array caches. tests/annotations switches it on.
	add_compile_definitions(DRY_ANNOTATE=false)
	add_link_options(${dry_sanitize_flags})
endif()

if(DRY_FUZZER)
	add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# RISC-V before gcc 13 calls a library for atomics of one or two bytes.
include(CheckCSourceCompiles)
check_c_source_compiles("int main(int argc, char **argv) { return __atomic_exchange_n(argv[argc - 1], 1, __ATOMIC_SEQ_CST); }"
	dry_small_atomics)
if(NOT dry_small_atomics)
	link_libraries(atomic)
endif()
