# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The simulated machine: dry_sim, an object library of core, page and what they need, each source as it
# is, over src/port/sim. Its include path comes first: it has the port, the sequences, and a
# <stdatomic.h> in which every access is a possible switch.

set(dry_sim_src ${CMAKE_SOURCE_DIR}/src)
set(DRY_SIM_INCLUDES ${dry_sim_src}/port/sim ${CMAKE_SOURCE_DIR}/include ${dry_sim_src})
file(GLOB dry_sim_sources CONFIGURE_DEPENDS ${dry_sim_src}/base/*.c ${dry_sim_src}/page/*.c ${dry_sim_src}/core/*.c
	${dry_sim_src}/debug/*.c ${dry_sim_src}/stats/*.c ${dry_sim_src}/port/*.c ${dry_sim_src}/port/sim/*.c)
list(APPEND dry_sim_sources ${dry_sim_src}/malloc/general.c)

add_library(dry_sim OBJECT EXCLUDE_FROM_ALL ${dry_sim_sources})
target_include_directories(dry_sim PUBLIC ${DRY_SIM_INCLUDES})
target_compile_definitions(dry_sim PUBLIC _GNU_SOURCE)
target_compile_options(dry_sim PRIVATE ${dry_warnings} -fno-strict-aliasing)

# A program over it: build/sim/NAME.
function(dry_sim_program name)
	add_executable(${name} EXCLUDE_FROM_ALL ${ARGN} $<TARGET_OBJECTS:dry_sim>)
	target_include_directories(${name} PRIVATE ${DRY_SIM_INCLUDES} ${CMAKE_SOURCE_DIR}/tests)
	target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
	target_compile_options(${name} PRIVATE ${dry_warnings} -UNDEBUG -fno-strict-aliasing)
	set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/sim)
	add_dependencies(drystone_tests ${name})
endfunction()
