# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# drystone_add(PORT p ARCH a SUFFIX s OUTPUT folder)
#
# The library over one port. Defines
#   dry_<layer>s       an object library for each layer that has sources
#   drystone_shareds   OUTPUT/libdrystone.so   (not in a sanitizer build)
#   drystone_statics   OUTPUT/libdrystone.a
#   drystone_wholes    interface: all objects, public and private include paths; what tests link to
#   drystone_privates  interface: private include paths only

# malloc without the override is the default heap and its size classes; with it, the symbols of libc.
set(dry_override_pattern "/src/malloc/override[^/]*\\.c$")

function(drystone_add)
	cmake_parse_arguments(arg "" "PORT;ARCH;SUFFIX;OUTPUT" "" ${ARGN})
	set(src ${CMAKE_SOURCE_DIR}/src)
	set(s "${arg_SUFFIX}")

	set(glob_base ${src}/base/*.c)
	set(glob_port ${src}/port/*.c ${src}/port/${arg_PORT}/*.c ${src}/port/unix/*.c
		${src}/port/arch/*.c ${src}/port/arch/${arg_ARCH}/*.c ${src}/port/arch/${arg_ARCH}/*.S)
	set(glob_page ${src}/page/*.c ${src}/page/process/*.c)
	set(glob_core ${src}/core/*.c)
	set(glob_heap ${src}/heap/*.c)
	set(glob_debug ${src}/debug/*.c)
	set(glob_guard ${src}/guard/*.c)
	set(glob_stats ${src}/stats/*.c)
	set(glob_malloc ${src}/malloc/*.c)

	add_library(drystone_private${s} INTERFACE)
	target_include_directories(drystone_private${s} INTERFACE
		${CMAKE_SOURCE_DIR}/include ${src} ${src}/malloc/front ${src}/page/process ${src}/port/${arg_PORT} ${src}/port/arch/${arg_ARCH})

	set(objects "")
	foreach(layer base port page core heap debug guard stats malloc)
		file(GLOB sources CONFIGURE_DEPENDS ${glob_${layer}})
		if(DRY_SANITIZE)
			list(FILTER sources EXCLUDE REGEX "${dry_override_pattern}")
		endif()
		if(NOT sources)
			continue()
		endif()
		add_library(dry_${layer}${s} OBJECT ${sources})
		target_link_libraries(dry_${layer}${s} PRIVATE drystone_private${s})
		target_compile_options(dry_${layer}${s} PRIVATE ${dry_warnings} ${dry_code})
		# Exceptions pass through operator new and delete.
		set_source_files_properties(${src}/malloc/override_cxx.c PROPERTIES COMPILE_OPTIONS -fexceptions)
		if(layer MATCHES "^(base|page|core|heap)$")
			target_compile_options(dry_${layer}${s} PRIVATE $<$<COMPILE_LANGUAGE:C>:-ffreestanding>)
		else()
			target_compile_options(dry_${layer}${s} PRIVATE $<$<COMPILE_LANGUAGE:C>:${dry_no_builtin_malloc}>)
		endif()
		list(APPEND objects $<TARGET_OBJECTS:dry_${layer}${s}>)
	endforeach()

	add_library(drystone_whole${s} INTERFACE)
	target_sources(drystone_whole${s} INTERFACE ${objects})
	target_link_libraries(drystone_whole${s} INTERFACE drystone_private${s})

	set(public $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
	set(static_objects ${objects})
	if(NOT DRY_SANITIZE)
		# One object, so that who links any part also gets what no symbol asks for: fork handlers, options,
		# the malloc family.
		set(whole ${CMAKE_CURRENT_BINARY_DIR}/drystone${s}.o)
		# Its code gets a section of its own, so that stacks can leave out the library's frames (port/unix/stack.c).
		add_custom_command(OUTPUT ${whole} COMMAND ${CMAKE_C_COMPILER} -nostdlib -r -o ${whole} "${objects}"
			COMMAND ${CMAKE_OBJCOPY} --rename-section .text=dry_text --rename-section .text.unlikely=dry_text
			${whole}
			DEPENDS "${objects}" COMMAND_EXPAND_LISTS VERBATIM)
		set_source_files_properties(${whole} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
		set(static_objects ${whole})
	endif()
	add_library(drystone_static${s} STATIC ${static_objects})
	target_include_directories(drystone_static${s} INTERFACE ${public})
	set_target_properties(drystone_static${s} PROPERTIES OUTPUT_NAME drystone LINKER_LANGUAGE C
		ARCHIVE_OUTPUT_DIRECTORY ${arg_OUTPUT} EXPORT_NAME static)

	if(NOT DRY_SANITIZE)
		add_library(drystone_shared${s} SHARED ${objects})
		target_include_directories(drystone_shared${s} INTERFACE ${public})
		# nodelete: a helper thread runs in it. now: no symbol is looked up inside of malloc.
		target_link_options(drystone_shared${s} PRIVATE -Wl,--no-undefined -Wl,-z,relro -Wl,-z,now
			-Wl,-z,nodelete -Wl,-Bsymbolic-functions)
		set_target_properties(drystone_shared${s} PROPERTIES OUTPUT_NAME drystone LINKER_LANGUAGE C
			VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
			LIBRARY_OUTPUT_DIRECTORY ${arg_OUTPUT} EXPORT_NAME drystone)
	endif()
	if(NOT s)
		add_library(drystone::static ALIAS drystone_static)
		if(TARGET drystone_shared)
			add_library(drystone::drystone ALIAS drystone_shared)
		endif()
	endif()
endfunction()
