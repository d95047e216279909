# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The allocators for small machines, from src/tiny:
#
#   dry_tiny, dry_sequential          object libraries over the hooks in src/tiny/hosted: tests, the malloc front
#   OUTPUT/libdrystone-tiny.a         as a small machine gets it: src/tiny/bare, -Os, nothing but the C calls mem*
#   OUTPUT/libdrystone-tiny-check.a   besides: verification, listing, and what makes reports text; before the other when linked
#   OUTPUT/libdrystone-sequential*.a  the same for the predecessor
#   OUTPUT/libdrystone-X-malloc.so    the malloc family over either, to be preloaded: drystone run --allocator=X
#   dry_tiny_test(name source)        a conformance test as name.tiny and name.sequential

set(dry_tiny_src ${PROJECT_SOURCE_DIR}/src/tiny)
file(GLOB dry_override_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/malloc/override*.c)
set(dry_tiny_allocators tiny sequential)
# What allocates; besides, what verifies, lists and reports, by the kind of allocator. scripts/targets.py reads these.
set(dry_tiny_common map link pages heap cache general stats)
set(dry_tiny_slabs slab blocks)
set(dry_sequential_slabs sequential)
set(dry_check_common inspect check check_expect name more)
set(dry_tiny_check report check_slab min_pool)
set(dry_sequential_check sequential_check sequential_report)
foreach(list tiny_common tiny_slabs sequential_slabs check_common tiny_check sequential_check)
	list(TRANSFORM dry_${list} REPLACE "(.+)" "${dry_tiny_src}/\\1.c")
endforeach()
set(dry_tiny_hosted ${dry_tiny_src}/hosted/hooks.c ${dry_tiny_src}/hosted/space.c)
if(DRY_PORT STREQUAL "posix")
	set(dry_tiny_port "")
else()
	set(dry_tiny_port _posix)
endif()
add_library(dry_tiny_port STATIC $<TARGET_OBJECTS:dry_base${dry_tiny_port}> $<TARGET_OBJECTS:dry_port${dry_tiny_port}>)
set_target_properties(dry_tiny_port PROPERTIES LINKER_LANGUAGE C)

foreach(allocator ${dry_tiny_allocators})
	add_library(dry_${allocator} OBJECT ${dry_tiny_common} ${dry_${allocator}_slabs} ${dry_check_common}
		${dry_${allocator}_check} ${dry_tiny_hosted})
	target_include_directories(dry_${allocator} PRIVATE ${dry_tiny_src}/hosted)
	target_link_libraries(dry_${allocator} PRIVATE drystone_private${dry_tiny_port})
	target_compile_options(dry_${allocator} PRIVATE ${dry_warnings} ${dry_code} -ffreestanding)

	add_library(drystone_${allocator} STATIC ${dry_tiny_common} ${dry_${allocator}_slabs} ${dry_tiny_src}/bare/hooks.c)
	add_library(drystone_${allocator}_check STATIC ${dry_check_common} ${dry_${allocator}_check} ${dry_tiny_src}/bare/text.c
		${PROJECT_SOURCE_DIR}/src/base/fmt.c)
	foreach(part "" -check)
		string(REPLACE - _ target drystone_${allocator}${part})
		target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${dry_tiny_src}/bare
			PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
		target_compile_options(${target} PRIVATE ${dry_warnings} -Os -ffreestanding -fno-strict-aliasing
			-ffunction-sections -fdata-sections)
		set_target_properties(${target} PROPERTIES OUTPUT_NAME drystone-${allocator}${part}
			ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
		dry_public_names(${target} ${allocator}${part})
	endforeach()
	target_link_libraries(drystone_${allocator}_check INTERFACE drystone_${allocator})
	# To preload: the malloc family of src/malloc over this allocator.
	if(NOT DRY_SANITIZE)
		add_library(drystone_${allocator}_malloc SHARED $<TARGET_OBJECTS:dry_${allocator}> ${dry_tiny_src}/malloc/process.c
			${dry_override_sources} ${PROJECT_SOURCE_DIR}/src/malloc/shared_cxx.c ${PROJECT_SOURCE_DIR}/src/malloc/shared_nothrow.c)
		target_include_directories(drystone_${allocator}_malloc PRIVATE ${dry_tiny_src}/malloc ${dry_tiny_src}/hosted
			${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/src/port/posix
			${PROJECT_SOURCE_DIR}/src/port/arch/generic)
		target_compile_options(drystone_${allocator}_malloc PRIVATE ${dry_warnings} ${dry_code} ${dry_no_builtin_malloc})
		target_link_libraries(drystone_${allocator}_malloc PRIVATE dry_tiny_port)
		target_link_options(drystone_${allocator}_malloc PRIVATE -Wl,--no-undefined -Wl,-z,relro -Wl,-z,now
			-Wl,-z,nodelete -Wl,-Bsymbolic-functions -Wl,--dynamic-list=${PROJECT_SOURCE_DIR}/cmake/replaceable.txt)
		set_target_properties(drystone_${allocator}_malloc PROPERTIES OUTPUT_NAME drystone-${allocator}-malloc
			LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
	endif()
endforeach()

# With DRY_TINY_CHECK_LINKS, for tests/tiny/test_links.c.
add_library(dry_checked OBJECT EXCLUDE_FROM_ALL ${dry_tiny_common} ${dry_tiny_slabs} ${dry_check_common} ${dry_tiny_check}
	${dry_tiny_hosted})
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
	# Release and AddressSanitizer run both; the thread sanitizer, under which a lock is all there is to see, the product.
	set(allocators ${dry_tiny_allocators})
	if(DRY_SANITIZE MATCHES "thread")
		set(allocators tiny)
	elseif(DRY_DEBUG AND NOT DRY_SANITIZE)
		set(allocators "")
	endif()
	if(ARGN)
		set(allocators ${ARGN})
	endif()
	foreach(allocator ${allocators})
		dry_test_program(${target}_${allocator} ${source})
		string(TOUPPER ${allocator} define)
		target_compile_definitions(${target}_${allocator} PRIVATE DRY_TEST_TINY DRY_TEST_${define})
		target_include_directories(${target}_${allocator} PRIVATE ${PROJECT_SOURCE_DIR}/include
			${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/tests/support)
		if(ARGN)
			target_include_directories(${target}_${allocator} PRIVATE ${dry_tiny_src}/hosted)
			target_link_libraries(${target}_${allocator} PRIVATE drystone_private${dry_tiny_port})
		endif()
		target_link_libraries(${target}_${allocator} PRIVATE $<TARGET_OBJECTS:dry_${allocator}> dry_tiny_port)
		add_test(NAME ${name}.${allocator} COMMAND ${target}_${allocator})
		dry_test_properties(${name}.${allocator} ${source} ${allocator} DRY_TEST_SCALE=0.05)
	endforeach()
endfunction()
