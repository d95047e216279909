# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The allocators for small machines, from src/tiny:
#
#   dry_tiny, dry_sequential          object libraries over the hooks in src/tiny/hosted: tests, the malloc front
#   OUTPUT/libdrystone-tiny.a         as a small machine gets it: src/tiny/bare, -Os, nothing but the C calls mem*
#   OUTPUT/libdrystone-sequential.a   the same for the predecessor
#   OUTPUT/libdrystone-X-malloc.so    the malloc family over either, to be preloaded: drystone run --allocator=X
#   dry_tiny_test(name source)        a conformance test as name.tiny and name.sequential

set(dry_tiny_src ${CMAKE_SOURCE_DIR}/src/tiny)
file(GLOB dry_override_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/malloc/override*.c)
set(dry_tiny_allocators tiny sequential)
foreach(file pages heap cache general inspect check)
	list(APPEND dry_tiny_common ${dry_tiny_src}/${file}.c)
endforeach()
set(dry_tiny_slabs ${dry_tiny_src}/slab.c ${dry_tiny_src}/blocks.c ${dry_tiny_src}/report.c ${dry_tiny_src}/check_slab.c
	${dry_tiny_src}/min_pool.c)
set(dry_sequential_slabs ${dry_tiny_src}/sequential.c ${dry_tiny_src}/sequential_check.c)
if(DRY_PORT STREQUAL "posix")
	set(dry_tiny_port "")
else()
	set(dry_tiny_port _posix)
endif()
add_library(dry_tiny_port STATIC $<TARGET_OBJECTS:dry_base${dry_tiny_port}> $<TARGET_OBJECTS:dry_port${dry_tiny_port}>)
set_target_properties(dry_tiny_port PROPERTIES LINKER_LANGUAGE C)

foreach(allocator ${dry_tiny_allocators})
	add_library(dry_${allocator} OBJECT ${dry_tiny_common} ${dry_${allocator}_slabs} ${dry_tiny_src}/hosted/hooks.c)
	target_include_directories(dry_${allocator} PRIVATE ${dry_tiny_src}/hosted)
	target_link_libraries(dry_${allocator} PRIVATE drystone_private${dry_tiny_port})
	target_compile_options(dry_${allocator} PRIVATE ${dry_warnings} ${dry_code} -ffreestanding)

	add_library(drystone_${allocator} STATIC ${dry_tiny_common} ${dry_${allocator}_slabs} ${dry_tiny_src}/bare/hooks.c
		${CMAKE_SOURCE_DIR}/src/base/fmt.c)
	target_include_directories(drystone_${allocator} PRIVATE ${CMAKE_SOURCE_DIR}/src ${dry_tiny_src}/bare
		PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
	target_compile_options(drystone_${allocator} PRIVATE ${dry_warnings} -Os -ffreestanding -fno-strict-aliasing
		-ffunction-sections)
	set_target_properties(drystone_${allocator} PROPERTIES OUTPUT_NAME drystone-${allocator} EXPORT_NAME ${allocator}
		ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
	# To preload: the malloc family of src/malloc over this allocator.
	if(NOT DRY_SANITIZE)
		add_library(drystone_${allocator}_malloc SHARED $<TARGET_OBJECTS:dry_${allocator}> ${dry_tiny_src}/malloc/process.c
			${dry_override_sources})
		target_include_directories(drystone_${allocator}_malloc PRIVATE ${dry_tiny_src}/malloc ${dry_tiny_src}/hosted
			${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/src/port/posix
			${CMAKE_SOURCE_DIR}/src/port/arch/generic)
		target_compile_options(drystone_${allocator}_malloc PRIVATE ${dry_warnings} ${dry_code} ${dry_no_builtin_malloc})
		target_link_libraries(drystone_${allocator}_malloc PRIVATE dry_tiny_port)
		target_link_options(drystone_${allocator}_malloc PRIVATE -Wl,--no-undefined -Wl,-z,relro -Wl,-z,now
			-Wl,-z,nodelete -Wl,-Bsymbolic-functions)
		set_target_properties(drystone_${allocator}_malloc PROPERTIES OUTPUT_NAME drystone-${allocator}-malloc
			LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
	endif()
endforeach()

# With DRY_TINY_CHECK_LINKS, for tests/tiny/test_links.c.
add_library(dry_checked OBJECT EXCLUDE_FROM_ALL ${dry_tiny_common} ${dry_tiny_slabs} ${dry_tiny_src}/hosted/hooks.c)
target_include_directories(dry_checked PRIVATE ${dry_tiny_src}/hosted)
target_compile_definitions(dry_checked PRIVATE DRY_TINY_CHECK_LINKS=1)
target_link_libraries(dry_checked PRIVATE drystone_private${dry_tiny_port})
target_compile_options(dry_checked PRIVATE ${dry_warnings} ${dry_code} -ffreestanding)

function(dry_tiny_test name source) # ARGN: of these allocators only
	file(STRINGS ${source} skip REGEX "DRY_TEST_NOT_TINY")
	if(skip)
		return()
	endif()
	string(REPLACE "." "_" target ${name})
	# Release runs both; of the rest, the sanitizers' builds run the product.
	set(allocators ${dry_tiny_allocators})
	if(DRY_SANITIZE)
		set(allocators tiny)
	elseif(DRY_DEBUG)
		set(allocators "")
	endif()
	if(ARGN)
		set(allocators ${ARGN})
	endif()
	foreach(allocator ${allocators})
		dry_test_program(${target}_${allocator} ${source})
		string(TOUPPER ${allocator} define)
		target_compile_definitions(${target}_${allocator} PRIVATE DRY_TEST_TINY DRY_TEST_${define})
		target_include_directories(${target}_${allocator} PRIVATE ${CMAKE_SOURCE_DIR}/include
			${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR}/tests/support)
		if(ARGN)
			target_include_directories(${target}_${allocator} PRIVATE ${dry_tiny_src}/hosted)
			target_link_libraries(${target}_${allocator} PRIVATE drystone_private${dry_tiny_port})
		endif()
		target_link_libraries(${target}_${allocator} PRIVATE $<TARGET_OBJECTS:dry_${allocator}> dry_tiny_port)
		add_test(NAME ${name}.${allocator} COMMAND ${target}_${allocator})
		dry_test_properties(${name}.${allocator} ${source} ${allocator} DRY_TEST_SCALE=0.05)
	endforeach()
endfunction()
