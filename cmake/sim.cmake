# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The simulated machine: dry_sim, an object library of core, page and what they need, each source as it
# is, over src/port/sim. Its include path comes first: it has the port, the sequences, and a
# <stdatomic.h> in which every access is a possible switch.

set(dry_sim_src ${PROJECT_SOURCE_DIR}/src)
set(DRY_SIM_INCLUDES ${dry_sim_src}/port/sim ${dry_sim_src}/page/process ${PROJECT_SOURCE_DIR}/include ${dry_sim_src})
file(GLOB dry_sim_sources CONFIGURE_DEPENDS ${dry_sim_src}/base/*.c ${dry_sim_src}/page/*.c ${dry_sim_src}/page/process/*.c ${dry_sim_src}/core/*.c
	${dry_sim_src}/heap/*.c ${dry_sim_src}/guard/*.c
	${dry_sim_src}/debug/*.c ${dry_sim_src}/stats/*.c ${dry_sim_src}/port/*.c ${dry_sim_src}/port/sim/*.c
	${dry_sim_src}/port/posix/without.c)
list(APPEND dry_sim_sources ${dry_sim_src}/malloc/calls.c ${dry_sim_src}/malloc/classes.c ${dry_sim_src}/malloc/general.c ${dry_sim_src}/malloc/resize.c
	${dry_sim_src}/malloc/profile.c ${dry_sim_src}/malloc/sample.c ${dry_sim_src}/malloc/noted.c
	${dry_sim_src}/malloc/kind.c ${dry_sim_src}/malloc/options.c ${dry_sim_src}/malloc/plain.c
	${dry_sim_src}/malloc/policy.c ${dry_sim_src}/malloc/slow.c ${dry_sim_src}/malloc/starter.c ${dry_sim_src}/malloc/turns.c)

# dry_sim_objects(NAME SOURCES... [FLAGS...]): an object library over the simulated machine.
function(dry_sim_objects name)
	cmake_parse_arguments(arg "" "" "SOURCES;FLAGS" ${ARGN})
	add_library(${name} OBJECT EXCLUDE_FROM_ALL ${arg_SOURCES})
	target_include_directories(${name} PUBLIC ${DRY_SIM_INCLUDES})
	target_compile_definitions(${name} PUBLIC _GNU_SOURCE)
	target_compile_options(${name} PRIVATE ${dry_warnings} ${dry_test_code} -fno-strict-aliasing ${arg_FLAGS})
endfunction()

# A program over it: build/sim/NAME, of SOURCES and the objects of OBJECTS...
function(dry_sim_program name)
	cmake_parse_arguments(arg "" "" "SOURCES;OBJECTS;FLAGS" ${ARGN})
	add_executable(${name} EXCLUDE_FROM_ALL ${arg_SOURCES})
	foreach(objects ${arg_OBJECTS})
		target_sources(${name} PRIVATE $<TARGET_OBJECTS:${objects}>)
	endforeach()
	target_include_directories(${name} PRIVATE ${DRY_SIM_INCLUDES} ${PROJECT_SOURCE_DIR}/tests)
	target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
	target_compile_options(${name} PRIVATE ${dry_warnings} -UNDEBUG ${dry_test_code} -fno-strict-aliasing ${arg_FLAGS})
	set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/sim)
	add_dependencies(drystone_tests ${name})
endfunction()

dry_sim_objects(dry_sim SOURCES ${dry_sim_sources})

# The fine machine (src/port/sim/access.c): the compiler puts a call before each plain access of core and page.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT DRY_SANITIZE)
	set(dry_sim_fine_sources ${dry_sim_sources})
	list(FILTER dry_sim_fine_sources INCLUDE REGEX "/src/(page|core|malloc)/")
	list(FILTER dry_sim_fine_sources EXCLUDE REGEX "/check\\.c$") # called between steps only
	set(dry_sim_rest_sources ${dry_sim_sources})
	list(REMOVE_ITEM dry_sim_rest_sources ${dry_sim_fine_sources})
	dry_sim_objects(dry_sim_fine SOURCES ${dry_sim_fine_sources} FLAGS -DDRY_SIM_FINE -fsanitize=thread -Wno-tsan
		--param=tsan-instrument-func-entry-exit=0)
	dry_sim_objects(dry_sim_rest SOURCES ${dry_sim_rest_sources} FLAGS -DDRY_SIM_FINE)
endif()
